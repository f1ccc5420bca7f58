#include "azure_shared_key.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "storage/http/http.h"

#include <ctype.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Takes over both texts; the name is put in lower case. */
static void add_pair(struct name_values *pairs, char *name, char *value)
{
	for (char *at = name; *at; at++)
		*at = (char)tolower((unsigned char)*at);
	name_values_add(pairs, name, value);
}

static const char *header_line_value(const char *header)
{
	const char *value = strchr(header, ':');

	return value ? value + 1 + strspn(value + 1, " \t") : "";
}

static const char *header_value(const struct azure_shared_key_request *request, const char *name)
{
	size_t length = strlen(name);

	for (const char *const *header = request->headers; *header; header++)
		if (strncasecmp(*header, name, length) == 0 && (*header)[length] == ':')
			return header_line_value(*header);
	return "";
}

static void add_headers(struct bytes *text, const struct azure_shared_key_request *request)
{
	auto_(name_values_release) struct name_values pairs = {0};

	for (const char *const *header = request->headers; *header; header++)
		if (strncasecmp(*header, "x-ms-", 5) == 0)
			add_pair(&pairs, text_copy_n(*header, strcspn(*header, ":")),
				 text_copy(header_line_value(*header)));
	name_values_sort(&pairs);
	for (size_t i = 0; i < pairs.count; i++)
		bytes_format(text, NULL, "%s:%s\n", pairs.items[i].name, pairs.items[i].value);
}

/* "/account" and the path as sent, so that the account is there twice where the endpoint's path
 * begins with it; then the query. */
static void add_resource(struct bytes *text, const struct azure_shared_key_request *request)
{
	auto_(name_values_release) struct name_values pairs = {0};

	for (const char *at = request->query; *at;) {
		size_t length = strcspn(at, "&"), name = strcspn(at, "=&");
		size_t value = name < length ? name + 1 : length;

		add_pair(&pairs, uri_decode(at, name), uri_decode(at + value, length - value));
		at += length + (at[length] == '&');
	}
	name_values_sort(&pairs);
	bytes_format(text, NULL, "/%s%s", request->account, request->path);
	for (size_t i = 0; i < pairs.count; i++) {
		bool again = i && strcmp(pairs.items[i].name, pairs.items[i - 1].name) == 0;

		if (again)
			bytes_format(text, NULL, ",%s", pairs.items[i].value);
		else
			bytes_format(text, NULL, "\n%s:%s", pairs.items[i].name,
				     pairs.items[i].value);
	}
}

char *azure_shared_key_text(const struct azure_shared_key_request *request)
{
	static const char *const standard[] =
		{"Content-MD5",   "Content-Type",        "Date", "If-Modified-Since", "If-Match",
		 "If-None-Match", "If-Unmodified-Since", "Range"};
	struct bytes text = {0};

	bytes_format(&text, NULL, "%s\n%s\n%s\n", request->method,
		     header_value(request, "Content-Encoding"),
		     header_value(request, "Content-Language"));
	/* Since 2015-02-21 a length of 0 is signed as nothing. */
	if (request->content_length)
		bytes_format(&text, NULL, "%zu\n", request->content_length);
	else
		bytes_format(&text, NULL, "\n");
	for (size_t i = 0; i < sizeof(standard) / sizeof(standard[0]); i++)
		bytes_format(&text, NULL, "%s\n", header_value(request, standard[i]));
	add_headers(&text, request);
	add_resource(&text, request);
	uri_text(&text);
	return (char *)text.data;
}

char *azure_shared_key_sign(const struct azure_shared_key_request *request, const struct bytes *key)
{
	auto_free char *text = azure_shared_key_text(request);
	auto_free char *signature = NULL;
	uint8_t digest[EVP_MAX_MD_SIZE];
	unsigned int size = 0;

	HMAC(EVP_sha256(), key->data, (int)key->size, (const uint8_t *)text, strlen(text), digest,
	     &size);
	signature = base64_encode(digest, size);
	return text_format("SharedKey %s:%s", request->account, signature);
}
