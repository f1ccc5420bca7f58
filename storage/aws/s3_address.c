#include "s3_address.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "storage/http/http.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SCHEME "s3://"
#define BUCKET_MOST 255 /* 63 today; old ones in us-east-1 and other makers' are longer */
#define PREFIX_MOST 512 /* without its last slash, of the 1024 bytes of a key */

bool s3_address_is_region(const char *region)
{
	size_t length = region ? strlen(region) : 0;

	if (length == 0 || length > 63)
		return false;
	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)region[i]) && region[i] != '-')
			return false;
	return true;
}

static bool bucket_is_valid(const char *bucket)
{
	size_t length = strlen(bucket);

	if (length < 3 || length > BUCKET_MOST || !isalnum((unsigned char)bucket[0]))
		return false;
	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)bucket[i]) && !strchr("-._", bucket[i]))
			return false;
	return true;
}

/* "." and ".." would be taken for directories by proxies, and a control character
 * cannot be listed. */
static const char *check_prefix(const char *prefix)
{
	for (const char *at = prefix; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			return "has a control character";
	for (const char *at = prefix; *at;) {
		size_t length = strcspn(at, "/");

		if (length <= 2 && strspn(at, ".") >= length)
			return "has an empty part, or one that is \".\" or \"..\"";
		at += length;
		at += *at == '/';
	}
	return strlen(prefix) > PREFIX_MOST + 1 ? "is longer than 512 bytes" : NULL;
}

static int parse_url(struct s3_address *address, const char *url, struct err *err)
{
	const char *fault;

	uri_split_prefix(url + strlen(SCHEME), &address->bucket, &address->prefix);
	if (!bucket_is_valid(address->bucket))
		return err_set(err, ERR_INVALID,
			       "\"%s\" is no bucket's name; it is s3://BUCKET/PREFIX",
			       address->bucket);
	fault = check_prefix(address->prefix);
	if (fault)
		return err_set(err, ERR_INVALID, "the prefix %s", fault);
	return 0;
}

static int parse_endpoint(struct s3_address *address, const char *endpoint, struct err *err)
{
	auto_free char *whole = uri_endpoint(endpoint);
	const char *host, *port;
	size_t length;

	if (!whole)
		return err_set(err, ERR_INVALID,
			       "the endpoint is http:// or https://HOST[:PORT][/PATH], without "
			       "blanks");
	address->tls = strncasecmp(whole, "https://", 8) == 0;
	host = strstr(whole, "://") + 3;
	length = strcspn(host, "/");
	address->endpoint_host = text_copy_n(host, length);
	/* The default port does not appear in Host, which is signed. */
	port = address->tls ? ":443" : ":80";
	if (text_ends(address->endpoint_host, port))
		address->endpoint_host[length - strlen(port)] = '\0';
	address->endpoint_path = text_copy(host + length);
	return 0;
}

int s3_address_init(struct s3_address *address, const char *url, const char *endpoint,
		    const char *region, enum s3_style style, struct err *err)
{
	*address = (struct s3_address){.tls = true, .style = style};
	if (!s3_address_is_region(region))
		return err_set(err, ERR_INVALID, "\"%s\" is no region", region);
	address->region = text_copy(region);
	if (parse_url(address, url, err) == 0 &&
	    (!endpoint || parse_endpoint(address, endpoint, err) == 0))
		return 0;
	s3_address_release(address);
	return -1;
}

bool s3_address_is_in_the_clear(const struct s3_address *address)
{
	auto_free char *endpoint = NULL;

	if (address->tls || !address->endpoint_host)
		return false;
	endpoint = text_format("http://%s", address->endpoint_host);
	return !uri_is_confidential(endpoint);
}

void s3_address_release(struct s3_address *address)
{
	free(address->bucket);
	free(address->prefix);
	free(address->endpoint_host);
	free(address->endpoint_path);
	free(address->region);
	*address = (struct s3_address){0};
}

static bool is_virtual(const struct s3_address *address)
{
	if (address->style != S3_STYLE_AUTO)
		return address->style == S3_STYLE_VIRTUAL;
	if (address->endpoint_host)
		return false;
	/* A certificate for *.s3.REGION covers one label, and a host has no '_' and no case. */
	for (const char *at = address->bucket; *at; at++)
		if (*at == '.' || *at == '_' || isupper((unsigned char)*at))
			return false;
	return true;
}

char *s3_address_host(const struct s3_address *address)
{
	auto_free char *host =
		address->endpoint_host
			? text_copy(address->endpoint_host)
			: text_format("s3.%s.amazonaws.com%s", address->region,
				      text_starts(address->region, "cn-") ? ".cn" : "");

	if (!is_virtual(address))
		return steal(&host);
	return text_format("%s.%s", address->bucket, host);
}

char *s3_address_path(const struct s3_address *address, const char *key)
{
	auto_free char *full = text_format("%s%s", key ? address->prefix : "", key ? key : "");
	auto_free char *encoded = uri_encode(full, true);
	const char *base = address->endpoint_path ? address->endpoint_path : "";

	if (is_virtual(address))
		return text_format("%s/%s", base, encoded);
	if (!key)
		return text_format("%s/%s", base, address->bucket);
	return text_format("%s/%s/%s", base, address->bucket, encoded);
}
