#include "base/digest.h"

#include <openssl/evp.h>
#include <pthread.h>
#include <string.h>

static EVP_MD *sha256;
static pthread_once_t sha256_fetched = PTHREAD_ONCE_INIT;

/* EVP_sha256() looks the algorithm up under a lock at every use. Fetched once, no thread waits. */
static void fetch_sha256(void)
{
	sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
}

void digest_sha256(const void *data, size_t size, uint8_t digest[DIGEST_SIZE])
{
	pthread_once(&sha256_fetched, fetch_sha256);
	/* It fails only without memory, or without SHA-256 in the library. Then the process must
	 * end, because a wrong digest would be worse. */
	if (!sha256 || EVP_Digest(data, size, digest, NULL, sha256, NULL) != 1) {
		fputs("reprieve: SHA-256 is not available\n", stderr);
		abort();
	}
}

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
