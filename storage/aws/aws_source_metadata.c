/* Credentials that the platform has ready: the container's endpoint (ECS, EKS Pod Identity), the
 * instance's metadata (IMDSv2). */
#include "aws_source.h"

#include "aws_reply_credentials.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/http.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	ANSWER_MOST = 64 * 1024,
	TRIES = 3,
	CONNECT_MS = 1000,
	TIMEOUT_MS = 2000,
	REST_MS = 200
};

static const char *environment_variable(const char *name)
{
	const char *value = getenv(name);

	return value && value[0] ? value : NULL;
}

/* An answer with any status but 5xx and 429, which are tried again; `header` may be NULL. */
static int ask_service(struct http *http, const char *method, const char *url, const char *header,
		       struct http_response *response, struct cancel *cancel, struct err *err)
{
	const char *const headers[] = {header, NULL};
	const struct http_request request = {
		.method = method,
		.url = url,
		.headers = headers,
		.no_proxy = text_starts(url, "http:"),
		.connect_timeout_ms = CONNECT_MS,
		.timeout_ms = TIMEOUT_MS,
	};

	response->body.limit = ANSWER_MOST;
	for (int i = 0; i < TRIES; i++) {
		if (i && cancel_sleep(cancel, REST_MS, err) < 0)
			return -1;
		if (http_perform(http, &request, response, cancel, err) < 0) {
			if (err && err->kind != ERR_RETRY)
				return -1;
		} else if (response->status < 500 && response->status != 429) {
			return 0;
		} else {
			err_set(err, ERR_RETRY, "it answers %d", response->status);
		}
	}
	return -1;
}

static int read_credentials(const struct http_response *response,
			    struct aws_credentials *credentials, struct err *err)
{
	if (response->status != 200)
		return err_set(err, ERR_DENIED, "it answers %d", response->status);
	return aws_reply_json(response->body.data, response->body.size, credentials, err);
}

/* --- the container --- */

static bool container_is_set_up(const struct aws_settings *settings)
{
	(void)settings;
	return environment_variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") ||
	       environment_variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
}

/* *header stays NULL where there is no token; the file is read anew each time, for it is
 * replaced while we run. */
static int container_authorization(char **header, struct err *err)
{
	const char *path = environment_variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
	const char *text = environment_variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
	auto_(bytes_release) struct bytes token = {.limit = ANSWER_MOST};

	if (path) {
		if (file_read(path, &token, err) < 0 || bytes_append(&token, "", 1, err) < 0)
			return -1;
		text = (const char *)token.data;
	}
	if (!text)
		return 0;
	/* It would become another header. */
	if (text[strcspn(text, "\r\n")])
		return err_set(err, ERR_INVALID, "the authorization token holds a line's end");
	*header = text_format("Authorization: %s", text);
	return 0;
}

static int container_fetch(const struct aws_settings *settings, struct aws_credentials *credentials,
			   char *source_text, size_t source_text_size, struct cancel *cancel,
			   struct err *err)
{
	const char *relative = environment_variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
	auto_free char *url =
		relative ? text_format("http://169.254.170.2%s", relative)
			 : text_copy(environment_variable("AWS_CONTAINER_CREDENTIALS_FULL_URI"));
	auto_free char *header = NULL;
	auto_(http_free) struct http *http = NULL;
	auto_(http_response_release) struct http_response response = {0};

	(void)settings;
	text_set(source_text, source_text_size, "container");
	if (!aws_reply_uri_is_allowed(url))
		return err_set(err, ERR_INVALID,
			       "AWS_CONTAINER_CREDENTIALS_FULL_URI: https, or http to this machine "
			       "or container platform only");
	if (container_authorization(&header, err) < 0 || http_new(&http, err) < 0 ||
	    ask_service(http, "GET", url, header, &response, cancel, err) < 0 ||
	    read_credentials(&response, credentials, err) < 0)
		return err_wrap(err, "the container's credentials endpoint");
	return 0;
}

const struct aws_source aws_source_container = {
	.name = "container",
	.is_set_up = container_is_set_up,
	.fetch = container_fetch,
};

/* --- the instance --- */

#define ROLES_PATH "/latest/meta-data/iam/security-credentials/"

static bool instance_is_set_up(const struct aws_settings *settings)
{
	const char *disabled = environment_variable("AWS_EC2_METADATA_DISABLED");

	(void)settings;
	return !disabled || strcasecmp(disabled, "true") != 0;
}

static char *instance_endpoint(void)
{
	const char *asked = environment_variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
	const char *mode = environment_variable("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE");
	char *endpoint;

	if (!asked)
		return text_copy(mode && strcasecmp(mode, "ipv6") == 0 ? "http://[fd00:ec2::254]"
								       : "http://169.254.169.254");
	endpoint = text_copy(asked);
	while (text_ends(endpoint, "/"))
		endpoint[strlen(endpoint) - 1] = '\0';
	return endpoint;
}

static int read_line(struct http_response *response, struct err *err)
{
	if (bytes_append(&response->body, "", 1, err) < 0)
		return -1;
	response->body.data[strcspn((const char *)response->body.data, "\r\n")] = '\0';
	if (response->body.data[0])
		return 0;
	return err_set(err, ERR_FAILED, "it answers with nothing");
}

/* *header stays NULL on a machine that still allows asking without a token, and knows none. */
static int instance_token(struct http *http, const char *endpoint, char **header,
			  struct http_response *response, struct cancel *cancel, struct err *err)
{
	auto_free char *url = text_format("%s/latest/api/token", endpoint);

	if (ask_service(http, "PUT", url, "X-aws-ec2-metadata-token-ttl-seconds: 21600", response,
			cancel, err) < 0)
		return -1;
	if (response->status == 403 || response->status == 404 || response->status == 405)
		return 0;
	if (response->status != 200)
		return err_set(err, ERR_DENIED, "it answers %d to a request for a token",
			       response->status);
	if (read_line(response, err) < 0)
		return -1;
	*header = text_format("X-aws-ec2-metadata-token: %s", (const char *)response->body.data);
	return 0;
}

static int fetch_from_instance(struct http *http, struct aws_credentials *credentials,
			       char *source_text, size_t source_text_size, struct cancel *cancel,
			       struct err *err)
{
	auto_free char *endpoint = instance_endpoint();
	auto_free char *header = NULL, *roles = text_format("%s" ROLES_PATH, endpoint);
	auto_free char *url = NULL, *words = NULL;
	auto_(http_response_release) struct http_response response = {0};

	if (instance_token(http, endpoint, &header, &response, cancel, err) < 0 ||
	    ask_service(http, "GET", roles, header, &response, cancel, err) < 0)
		return -1;
	if (response.status == 404)
		return err_set(err, ERR_DENIED, "the instance has no role");
	if (response.status != 200)
		return err_set(err, ERR_DENIED, "it answers %d", response.status);
	/* The role may be another than last time. */
	if (read_line(&response, err) < 0)
		return -1;
	url = text_format("%s%s", roles, (const char *)response.body.data);
	words = text_format("instance (role %.100s)", (const char *)response.body.data);
	text_set(source_text, source_text_size, words);
	if (ask_service(http, "GET", url, header, &response, cancel, err) < 0)
		return -1;
	return read_credentials(&response, credentials, err);
}

static int instance_fetch(const struct aws_settings *settings, struct aws_credentials *credentials,
			  char *source_text, size_t source_text_size, struct cancel *cancel,
			  struct err *err)
{
	auto_(http_free) struct http *http = NULL;

	(void)settings;
	if (http_new(&http, err) < 0)
		return -1;
	if (fetch_from_instance(http, credentials, source_text, source_text_size, cancel, err) < 0)
		return err_wrap(err, "none in the environment, the profile, the container; the "
				     "instance's metadata service");
	return 0;
}

int aws_instance_region(char **region, struct cancel *cancel, struct err *err)
{
	auto_free char *endpoint = instance_endpoint(), *header = NULL;
	auto_free char *url = text_format("%s/latest/meta-data/placement/region", endpoint);
	auto_(http_free) struct http *http = NULL;
	auto_(http_response_release) struct http_response response = {0};

	if (!instance_is_set_up(NULL))
		return err_set(err, ERR_DENIED, "AWS_EC2_METADATA_DISABLED is true");
	if (http_new(&http, err) < 0 ||
	    instance_token(http, endpoint, &header, &response, cancel, err) < 0 ||
	    ask_service(http, "GET", url, header, &response, cancel, err) < 0)
		return err_wrap(err, "the instance's metadata service");
	if (response.status != 200)
		return err_set(err, ERR_DENIED, "the instance's metadata service answers %d",
			       response.status);
	if (read_line(&response, err) < 0)
		return err_wrap(err, "the instance's metadata service");
	*region = text_copy((const char *)response.body.data);
	return 0;
}

const struct aws_source aws_source_instance = {
	.name = "instance",
	.is_set_up = instance_is_set_up,
	.fetch = instance_fetch,
};
