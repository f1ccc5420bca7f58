#include "base/base64.h"

#include <openssl/evp.h>
#include <string.h>

#define TEXT_MOST ((size_t)16 << 20)

char *base64_encode(const void *data, size_t size)
{
	char *text = memory_new((size + 2) / 3 * 4 + 1);

	EVP_EncodeBlock((unsigned char *)text, data, (int)size);
	return text;
}

bool base64_decode(const char *text, struct bytes *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t length = strlen(text), padding = 0;

	bytes_release(out);
	if (length % 4 != 0 || length > TEXT_MOST ||
	    bytes_reserve(out, length / 4 * 3 + 1, NULL) < 0)
		return false;
	while (padding < length && padding < 2 && text[length - 1 - padding] == '=')
		padding++;
	/* EVP_DecodeBlock also takes white space, and counts padding as bytes. */
	if (strspn(text, digits) != length - padding)
		return false;
	if (length && EVP_DecodeBlock(out->data, (const unsigned char *)text, (int)length) < 0)
		return false;
	out->size = length / 4 * 3 - padding;
	out->data[out->size] = '\0';
	return true;
}
