/* Credentials that the platform has ready: the container's endpoint (ECS, EKS Pod Identity), the
 * instance's metadata (IMDSv2). */
#include "aws_source.h"

#include "aws_reply_credentials.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/instance_metadata.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum {
	TOKEN_FILE_MOST = 64 * 1024,
	TRIES = 3,
	CONTAINER_TIMEOUT_MS = 2000,
};

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
	return text_from_environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") ||
	       text_from_environment("AWS_CONTAINER_CREDENTIALS_FULL_URI");
}

/* *header stays NULL where there is no token; the file is read anew each time, for it is
 * replaced while we run. */
static int container_authorization(char **header, struct err *err)
{
	const char *path = text_from_environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
	const char *text = text_from_environment("AWS_CONTAINER_AUTHORIZATION_TOKEN");
	auto_(bytes_release) struct bytes token = {.limit = TOKEN_FILE_MOST};

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
	const char *relative = text_from_environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
	const char *full = text_from_environment("AWS_CONTAINER_CREDENTIALS_FULL_URI");
	auto_free char *url =
		relative ? text_format("http://169.254.170.2%s", relative) : text_copy(full);
	auto_free char *header = NULL;
	auto_(instance_metadata_close) struct instance_metadata client = {0};

	(void)settings;
	text_set(source_text, source_text_size, "container");
	if (!aws_reply_uri_is_allowed(url))
		return err_set(err, ERR_INVALID,
			       "AWS_CONTAINER_CREDENTIALS_FULL_URI: https, or http to this machine "
			       "or "
			       "container platform only");
	if (container_authorization(&header, err) < 0 ||
	    instance_metadata_open(&client, METADATA_AWS_CONTAINER, "", CONTAINER_TIMEOUT_MS, err) <
		    0)
		return err_wrap(err, "the container's credentials endpoint");
	client.tries = TRIES;
	if (instance_metadata_send(&client, "GET", url, header, NULL, cancel, err) < 0 ||
	    read_credentials(&client.response, credentials, err) < 0)
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
	struct metadata_aws_settings switches;

	(void)settings;
	instance_metadata_aws_settings(&switches);
	return !switches.is_disabled;
}

/* Leaves the client without a token where the service is so old that it has none. */
static int open_instance(struct instance_metadata *client, struct cancel *cancel, struct err *err)
{
	struct metadata_aws_settings switches;
	struct metadata_endpoint endpoint;
	struct err own = {0};
	int status;

	instance_metadata_aws_settings(&switches);
	instance_metadata_endpoint(METADATA_AWS, &endpoint);
	if (instance_metadata_open(client, METADATA_AWS, endpoint.url, switches.timeout_ms, err) <
	    0)
		return -1;
	client->tries = TRIES;
	if (instance_metadata_renew_token(client, cancel, &own) == 0)
		return 0;
	status = client->response.status;
	if (switches.allows_tokenless && (status == 403 || status == 404 || status == 405))
		return 0;
	return err_set(err, own.kind, "%s", own.text);
}

/* The first line of what is answered there; the caller frees. */
static int get_line(struct instance_metadata *client, const char *path, const char *none,
		    char **line, struct cancel *cancel, struct err *err)
{
	const struct bytes *body = &client->response.body;

	if (instance_metadata_get(client, path, cancel, err) < 0)
		return -1;
	if (client->response.status == 404 && none)
		return err_set(err, ERR_DENIED, "%s", none);
	if (client->response.status != 200)
		return err_set(err, ERR_DENIED, "it answers %d", client->response.status);
	*line = text_copy_n(body->size ? (const char *)body->data : "", body->size);
	(*line)[strcspn(*line, "\r\n")] = '\0';
	return **line ? 0 : err_set(err, ERR_FAILED, "it answers with nothing");
}

static int fetch_from_instance(struct aws_credentials *credentials, char *source_text,
			       size_t source_text_size, struct cancel *cancel, struct err *err)
{
	auto_(instance_metadata_close) struct instance_metadata client = {0};
	auto_free char *role = NULL, *path = NULL, *words = NULL;

	/* The role may be another than last time. */
	if (open_instance(&client, cancel, err) < 0 ||
	    get_line(&client, ROLES_PATH, "the instance has no role", &role, cancel, err) < 0)
		return -1;
	path = text_format(ROLES_PATH "%s", role);
	words = text_format("instance (role %.100s)", role);
	text_set(source_text, source_text_size, words);
	if (instance_metadata_get(&client, path, cancel, err) < 0)
		return -1;
	return read_credentials(&client.response, credentials, err);
}

static int instance_fetch(const struct aws_settings *settings, struct aws_credentials *credentials,
			  char *source_text, size_t source_text_size, struct cancel *cancel,
			  struct err *err)
{
	(void)settings;
	if (fetch_from_instance(credentials, source_text, source_text_size, cancel, err) < 0)
		return err_wrap(err, "none in the environment, a profile or the container: set "
				     "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, "
				     "or give the machine a role; its metadata service");
	return 0;
}

int aws_instance_region(char **region, struct cancel *cancel, struct err *err)
{
	auto_(instance_metadata_close) struct instance_metadata client = {0};

	if (!instance_is_set_up(NULL))
		return err_set(err, ERR_DENIED, "AWS_EC2_METADATA_DISABLED is true");
	if (open_instance(&client, cancel, err) < 0 ||
	    get_line(&client, "/latest/meta-data/placement/region", NULL, region, cancel, err) < 0)
		return err_wrap(err, "the instance's metadata service");
	return 0;
}

const struct aws_source aws_source_instance = {
	.name = "instance",
	.is_set_up = instance_is_set_up,
	.fetch = instance_fetch,
};
