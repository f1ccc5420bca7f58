#include "uri.h"

#include "base/cleanup.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_unreserved(char c, bool keep_slash)
{
	static const char unreserved[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";

	return c && (strchr(unreserved, c) || (keep_slash && c == '/'));
}

char *uri_encode(const char *text, bool keep_slash)
{
	static const char digits[] = "0123456789ABCDEF";
	char *encoded = memory_new(3 * strlen(text) + 1), *at = encoded;

	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;

		if (is_unreserved(*text, keep_slash)) {
			*at++ = *text;
			continue;
		}
		*at++ = '%';
		*at++ = digits[byte >> 4];
		*at++ = digits[byte & 15];
	}
	return encoded;
}

static int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c | 0x20) : NULL;

	return at && isxdigit((unsigned char)c) ? (int)(at - digits) : -1;
}

char *uri_decode(const char *text, size_t length)
{
	char *decoded = memory_new(length + 1), *at = decoded;

	for (size_t i = 0; i < length; i++) {
		int high = i + 2 < length && text[i] == '%' ? hex_digit(text[i + 1]) : -1;
		int low = high >= 0 ? hex_digit(text[i + 2]) : -1;

		if (low >= 0) {
			*at++ = (char)(high << 4 | low);
			i += 2;
		} else {
			*at++ = text[i];
		}
	}
	return decoded;
}

void uri_add(struct bytes *query, const char *name, const char *value)
{
	auto_free char *encoded_name = uri_encode(name, false);
	auto_free char *encoded_value = uri_encode(value, false);

	bytes_format(query, NULL, "%s%s=%s", query->size ? "&" : "", encoded_name, encoded_value);
}

const char *uri_text(struct bytes *query)
{
	if (bytes_reserve(query, 1, NULL) < 0)
		return "";
	query->data[query->size] = '\0';
	return (const char *)query->data;
}

bool uri_is_absolute(const char *url)
{
	const char *host = strstr(url, "://");

	if (!host || !host[3] || strchr("/?#:", host[3]))
		return false;
	for (; *url; url++)
		if (!isgraph((unsigned char)*url))
			return false;
	return true;
}

bool uri_is_confidential(const char *url)
{
	static const char *const here[] = {"localhost", "[::1]"};
	char address[INET_ADDRSTRLEN];
	struct in_addr number;
	const char *host;
	size_t length;

	if (strncasecmp(url, "https://", 8) == 0)
		return true;
	if (strncasecmp(url, "http://", 7) != 0)
		return false;
	host = url + 7;
	/* "http://localhost:80@elsewhere/" */
	if (memchr(host, '@', strcspn(host, "/?#")))
		return false;
	length = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":/?#");
	for (size_t i = 0; i < sizeof(here) / sizeof(here[0]); i++)
		if (length == strlen(here[i]) && strncasecmp(host, here[i], length) == 0)
			return true;
	/* All of 127.0.0.0/8, but not a name that begins so. */
	if (length >= sizeof(address))
		return false;
	memcpy(address, host, length);
	address[length] = '\0';
	return inet_pton(AF_INET, address, &number) == 1 && ntohl(number.s_addr) >> 24 == 127;
}

char *uri_endpoint(const char *url)
{
	size_t length = strlen(url);
	const char *host;

	if ((strncasecmp(url, "https://", 8) != 0 && strncasecmp(url, "http://", 7) != 0) ||
	    !uri_is_absolute(url) || strpbrk(url, "?#"))
		return NULL;
	host = strstr(url, "://") + 3;
	if (memchr(host, '@', strcspn(host, "/")))
		return NULL;
	while (url[length - 1] == '/')
		length--;
	return text_copy_n(url, length);
}

void uri_split_prefix(const char *path, char **name, char **prefix)
{
	size_t length = strcspn(path, "/");
	const char *rest = path + length + strspn(path + length, "/");

	*name = text_copy_n(path, length);
	for (length = strlen(rest); length && rest[length - 1] == '/';)
		length--;
	*prefix = text_format("%.*s%s", (int)length, rest, length ? "/" : "");
}
