/*
 * URLs, endpoints and headers that somebody configures. Of the input's lines the first is a store
 * behind its scheme, the second an endpoint or any other URL, the third a region, the fourth a list
 * of headers.
 */
#include "fuzz.h"

#include "base/cleanup.h"
#include "storage/aws/aws_credentials.h"
#include "storage/aws/s3_address.h"
#include "storage/azure/azure.h"
#include "storage/gcs/gcs.h"
#include "storage/http/uri.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <curl/curl.h>
#include <strings.h>

static bool is_graphic(const char *text)
{
	for (; *text; text++)
		if (!isgraph((unsigned char)*text))
			return false;
	return true;
}

/* Something that can be connected to stands behind the scheme. */
static bool has_host(const char *endpoint)
{
	const char *host = strstr(endpoint, "://");

	return host && host[3] && !strchr("/?#:", host[3]) && is_graphic(endpoint);
}

static void read_s3(const char *rest, const char *endpoint, const char *region)
{
	auto_free char *url = text_format("s3://%s", rest);
	auto_(s3_address_release) struct s3_address address = {0};
	auto_free char *host = NULL, *path = NULL, *bucket = NULL;

	if (s3_address_init(&address, url, endpoint[0] ? endpoint : NULL,
			    region[0] ? region : "eu-west-1", S3_STYLE_AUTO, NULL) < 0) {
		CHECK(!address.bucket && !address.prefix && !address.endpoint_host);
		return;
	}
	host = s3_address_host(&address);
	path = s3_address_path(&address, "jobs/a");
	bucket = s3_address_path(&address, NULL);
	CHECK(host[0] && host[0] != ':' && !strpbrk(host, "/?#@") && is_graphic(host));
	CHECK(path[0] == '/' && text_ends(path, "jobs/a") && is_graphic(path));
	CHECK(bucket[0] == '/');
	CHECK(!address.prefix[0] || text_ends(address.prefix, "/"));
}

static void read_gcs(const char *rest, const char *endpoint)
{
	auto_free char *url = text_format("gs://%s", rest);
	const struct gcs_environment environments[] = {{.emulator = endpoint},
						       {.endpoint = endpoint}};

	for (size_t i = 0; i < COUNT(environments); i++) {
		auto_(gcs_address_release) struct gcs_address address = {0};

		if (gcs_address_read(url, &environments[i], &address, NULL) < 0)
			continue;
		CHECK(address.bucket[0] && has_host(address.endpoint));
		CHECK(!address.prefix[0] || text_ends(address.prefix, "/"));
		CHECK(address.anonymous || uri_is_confidential(address.endpoint));
	}
}

static void read_azure(const char *rest, const char *endpoint)
{
	auto_free char *url = text_format("az://%s", rest);
	const struct azure_environment environment = {.endpoint = endpoint};
	auto_(azure_account_release) struct azure_account account = {0};

	if (azure_account_read(url, &environment, &account, NULL) < 0)
		return;
	CHECK(account.name[0] && account.container[0] && has_host(account.endpoint));
	CHECK(!account.prefix[0] || text_ends(account.prefix, "/"));
}

/* Whom the sender would connect to; NULL where it is no URL. The caller frees with curl_free(). */
static char *host_of(const char *url)
{
	CURLU *parts = curl_url();
	char *host = NULL;

	if (curl_url_set(parts, CURLUPART_URL, url,
			 CURLU_GUESS_SCHEME | CURLU_NON_SUPPORT_SCHEME | CURLU_PATH_AS_IS) ==
	    CURLUE_OK)
		curl_url_get(parts, CURLUPART_HOST, &host, 0);
	curl_url_cleanup(parts);
	return host;
}

static bool is_here(const char *host)
{
	struct in_addr address;

	return strcasecmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0 ||
	       (inet_pton(AF_INET, host, &address) == 1 && ntohl(address.s_addr) >> 24 == 127);
}

static bool is_container_service(const char *host)
{
	return strcmp(host, "169.254.170.2") == 0 || strcmp(host, "169.254.170.23") == 0 ||
	       strcasecmp(host, "[fd00:ec2::23]") == 0;
}

/* Who decides whether a secret may go to a URL, and who sends it there, must see the same host. */
static void judge_url(const char *url)
{
	char *host;

	if (strncasecmp(url, "http:", 5) != 0)
		return;
	host = host_of(url);
	if (host) {
		CHECK(!uri_is_confidential(url) || is_here(host));
		CHECK(!aws_reply_uri_is_allowed(url) || is_here(host) ||
		      is_container_service(host));
	}
	curl_free(host);
}

static void encode(const char *text)
{
	auto_free char *whole = uri_encode(text, false), *path = uri_encode(text, true);
	auto_free char *first = uri_decode(whole, strlen(whole)),
		       *second = uri_decode(path, strlen(path));
	auto_free char *decoded = uri_decode(text, strlen(text));

	CHECK(is_graphic(whole) && !strpbrk(whole, "/?#&=+ ") && is_graphic(path));
	CHECK(strcmp(first, text) == 0 && strcmp(second, text) == 0);
	CHECK(strlen(decoded) <= strlen(text));
}

static void read_headers(const char *text)
{
	char **headers = NULL;

	if (aws_settings_headers(text, &headers, NULL) < 0) {
		CHECK(!headers);
		return;
	}
	for (char **at = headers; *at; at += 2) {
		CHECK(at[0][0] && at[1] && fuzz_is_one_line(at[1]));
		CHECK(strcmp(at[0], "authorization") != 0 && strcmp(at[0], "host") != 0);
		free(at[0]);
		free(at[1]);
	}
	free(headers);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_free char *store = fuzz_line(&data, &size);
	auto_free char *url = fuzz_line(&data, &size);
	auto_free char *region = fuzz_line(&data, &size);
	auto_free char *headers = fuzz_line(&data, &size);

	read_s3(store, url, region);
	read_gcs(store, url);
	read_azure(store, url);
	judge_url(url);
	encode(store);
	read_headers(headers);
	return 0;
}
