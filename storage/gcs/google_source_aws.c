#include "google_source_aws.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "storage/aws/aws.h"
#include "storage/http/http.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define REGION "{region}"
#define SCHEME "https://"

/* "https://sts.{region}.amazonaws.com?Action=..." for one region. */
static char *regional_url(const char *url, const char *region)
{
	const char *at = strstr(url, REGION);

	if (!at)
		return text_copy(url);
	return text_format("%.*s%s%s", (int)(at - url), url, region, at + strlen(REGION));
}

static void add_header(json_t *list, const char *name, const char *value)
{
	if (value)
		json_array_append_new(list, json_pack("{s:s, s:s}", "key", name, "value", value));
}

/* Google refuses a request that was signed for another audience, so that one that is intercepted is
 * of no use elsewhere. */
#define AUDIENCE_HEADER "x-goog-cloud-target-resource"
#define TOKEN_HEADER "x-amz-security-token"

char *google_source_aws_sign(const char *template, const char *audience, const char *region,
			     const struct aws_credentials *credentials, int64_t wall_ms)
{
	auto_free char *url = regional_url(template, region);
	const char *host = text_starts(url, SCHEME) ? url + strlen(SCHEME) : "";
	const char *path = host + strcspn(host, "/?");
	const char *query = path + strcspn(path, "?");
	auto_free char *authority = text_copy_n(host, (size_t)(path - host));
	auto_free char *own_path =
		*path == '/' ? text_copy_n(path, (size_t)(query - path)) : text_copy("/");
	const struct sigv4_header headers[] = {
		{"host", authority},
		{AUDIENCE_HEADER, audience},
		{TOKEN_HEADER, credentials->session_token},
	};
	const struct sigv4_identity identity = {credentials->access_key, credentials->secret_key,
						region, "sts"};
	auto_json json_t *list = json_array(), *request = NULL;
	auto_free char *text = NULL;
	struct sigv4_signed result;
	char *token;

	if (!s3_address_is_region(region) || !*authority || !uri_is_absolute(url))
		return NULL;
	sigv4_sign(&(struct sigv4_request){"POST", own_path, *query ? query + 1 : "", SIGV4_EMPTY,
					   headers, credentials->session_token ? 3 : 2},
		   &identity, wall_ms, &result);
	add_header(list, "Authorization", result.authorization);
	add_header(list, "host", authority);
	add_header(list, "x-amz-date", result.date);
	add_header(list, AUDIENCE_HEADER, audience);
	add_header(list, TOKEN_HEADER, credentials->session_token);
	sigv4_signed_release(&result);
	request = json_pack("{s:s, s:s, s:O}", "url", url, "method", "POST", "headers", list);
	text = json_dumps(request, JSON_COMPACT | JSON_SORT_KEYS);
	token = text ? uri_encode(text, false) : NULL;
	if (text)
		explicit_bzero(text, strlen(text));
	return token;
}

int google_source_aws_subject(const char *url, const char *audience, int64_t wall_ms, char **token,
			      struct cancel *cancel, struct err *err)
{
	auto_(aws_settings_release) struct aws_settings settings = {0};
	auto_(aws_credentials_release) struct aws_credentials credentials = {0};
	auto_(aws_chain_free) struct aws_chain *chain = NULL;
	auto_free char *region = NULL;

	if (aws_settings_load(&settings, err) < 0)
		return err_wrap(err, "AWS");
	chain = aws_chain_new(&settings);
	if (aws_chain_get(chain, NULL, &credentials, cancel, err) < 0)
		return err_wrap(err, "AWS credentials");
	if (settings.region)
		region = text_copy(settings.region);
	else if (aws_instance_region(&region, cancel, err) < 0)
		return err_wrap(err, "set AWS_REGION: the region is not in AWS's settings, and");
	*token = google_source_aws_sign(url, audience, region, &credentials, wall_ms);
	if (*token)
		return 0;
	return err_set(err, ERR_INVALID,
		       "\"regional_cred_verification_url\" is no https:// address, or the region "
		       "\"%.40s\" none",
		       region);
}
