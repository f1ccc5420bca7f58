#include "base/instance_metadata.h"

#include "base/clock.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define LINK_LOCAL "http://169.254.169.254"
#define LINK_LOCAL_V6 "http://[fd00:ec2::254]"
#define TOKEN_PATH "/latest/api/token"

enum {
	REPLY_LIMIT = 64 * 1024,
	CONNECT_TIMEOUT_MS = 1000,
	TIMEOUT_MS = 2000,
	TIMEOUT_LEAST_MS = 100,
	TIMEOUT_MOST_MS = 10000,
	TOKEN_TTL_SECONDS = 21600,
	/* After a token that was not given: not at each request. */
	TOKEN_RETRY_MS = 30000,
	FIRST_PAUSE_MS = 200,
	LONGEST_PAUSE_MS = 400,
};

static const struct {
	/* The first that is set counts. */
	const char *variables[4];
	const char *address;
	const char *header;
	/* Of IMDSv2's header, and of Alibaba's, which mirrors it. */
	const char *token;
} services[METADATA_SERVICES] = {
	[METADATA_AWS] = {.variables = {"AWS_EC2_METADATA_SERVICE_ENDPOINT"},
			  .token = "X-aws-ec2-metadata-token"},
	[METADATA_GOOGLE] = {.variables = {"GCE_METADATA_HOST", "GCE_METADATA_ROOT",
					   "GCE_METADATA_IP"},
			     .header = "Metadata-Flavor: Google"},
	[METADATA_AZURE] = {.variables = {"REPRIEVE_AZURE_METADATA_ENDPOINT"},
			    .header = "Metadata: true"},
	[METADATA_AZURE_IDENTITY] = {.variables = {"AZURE_POD_IDENTITY_AUTHORITY_HOST"},
				     .header = "Metadata: true"},
	[METADATA_ALIBABA] = {.variables = {"REPRIEVE_ALIBABA_METADATA_ENDPOINT"},
			      .address = "http://100.100.100.200",
			      .token = "X-aliyun-ecs-metadata-token"},
	[METADATA_TENCENT] = {.variables = {"REPRIEVE_TENCENT_METADATA_ENDPOINT"},
			      .address = "http://metadata.tencentyun.com"},
};

/* --- the environment --- */

static const char *default_address(enum metadata_service service)
{
	const char *mode = getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE");

	if (services[service].address)
		return services[service].address;
	return service == METADATA_AWS && mode && strcasecmp(mode, "IPv6") == 0
		       ? LINK_LOCAL_V6
		       : LINK_LOCAL;
}

void instance_metadata_endpoint(enum metadata_service service, struct metadata_endpoint *endpoint)
{
	const char *named = NULL;
	size_t length;

	for (const char *const *at = services[service].variables; *at && !named; at++)
		named = text_from_environment(*at);
	endpoint->is_named = named;
	if (!endpoint->is_named)
		named = default_address(service);
	length = (size_t)snprintf(endpoint->url, sizeof(endpoint->url), "%s%s",
				  strstr(named, "://") ? "" : "http://", named);
	if (length >= sizeof(endpoint->url))
		length = sizeof(endpoint->url) - 1;
	while (length && endpoint->url[length - 1] == '/')
		endpoint->url[--length] = '\0';
}

static bool variable_is_true(const char *name)
{
	const char *value = getenv(name);

	return value && strcasecmp(value, "true") == 0;
}

void instance_metadata_aws_settings(struct metadata_aws_settings *settings)
{
	const char *timeout = getenv("AWS_METADATA_SERVICE_TIMEOUT");

	*settings = (struct metadata_aws_settings){
		.is_disabled = variable_is_true("AWS_EC2_METADATA_DISABLED"),
		.allows_tokenless = !variable_is_true("AWS_EC2_METADATA_V1_DISABLED"),
		.timeout_ms = TIMEOUT_MS,
	};
	if (timeout && text_to_duration_ms(timeout, &settings->timeout_ms) &&
	    settings->timeout_ms < TIMEOUT_LEAST_MS)
		settings->timeout_ms = TIMEOUT_LEAST_MS;
	/* Whoever has no valid keys waits for this. */
	if (settings->timeout_ms > TIMEOUT_MOST_MS)
		settings->timeout_ms = TIMEOUT_MOST_MS;
}

const char *instance_metadata_header(enum metadata_service service)
{
	return services[service].header;
}

/* --- requests --- */

int instance_metadata_open(struct instance_metadata *client, enum metadata_service service,
			   const char *endpoint, int64_t timeout_ms, struct err *err)
{
	*client = (struct instance_metadata){.service = service,
					     .timeout_ms = timeout_ms,
					     .tries = 1};
	text_set(client->endpoint, sizeof(client->endpoint), endpoint);
	return http_new(&client->http, err);
}

void instance_metadata_close(struct instance_metadata *client)
{
	http_response_release(&client->response);
	if (client->http)
		http_free(client->http);
	explicit_bzero(client->token_header, sizeof(client->token_header));
	client->http = NULL;
}

static bool may_pass(const struct instance_metadata *client, int result, const struct err *err)
{
	if (result < 0)
		return err->kind == ERR_RETRY;
	return client->response.status >= 500 || client->response.status == 429;
}

int instance_metadata_send(struct instance_metadata *client, const char *method, const char *path,
			   const char *header, const char *body, struct cancel *cancel,
			   struct err *err)
{
	auto_free char *url = text_format("%s%s", client->endpoint, path);
	const char *own = services[client->service].header;
	const char *const headers[] = {header ? header : own, NULL};
	const struct http_request request = {
		.method = method,
		.url = url,
		.headers = headers,
		.body = body,
		.body_size = body ? strlen(body) : 0,
		/* A proxy would add X-Forwarded-For, which these services refuse; over https it
		   cannot. */
		.no_proxy = client->service != METADATA_AWS_CONTAINER ||
			    strncasecmp(url, "https:", strlen("https:")) != 0,
		.connect_timeout_ms = client->timeout_ms < CONNECT_TIMEOUT_MS ? client->timeout_ms
									      : CONNECT_TIMEOUT_MS,
		.timeout_ms = client->timeout_ms,
	};
	struct err own_err = {0};
	unsigned tries = 0;
	int64_t pause_ms;
	int result;

	client->response.body.limit = REPLY_LIMIT;
	client->response.status = 0;
	for (;;) {
		result = http_perform(client->http, &request, &client->response, cancel, &own_err);
		if (!may_pass(client, result, &own_err) || ++tries >= client->tries)
			break;
		pause_ms = backoff_ms(tries, FIRST_PAUSE_MS, LONGEST_PAUSE_MS, BACKOFF_WHOLE);
		if (cancel_sleep(cancel, pause_ms, err) < 0) {
			client->response.status = 0;
			return -1;
		}
	}
	/* Headers without the rest are no answer: nothing may be concluded from their status. */
	if (result < 0)
		client->response.status = 0;
	if (result < 0 && err)
		*err = own_err;
	if (result == 0 && client->tries > 1 && may_pass(client, result, NULL))
		return err_set(err, ERR_RETRY, "it answers %d", client->response.status);
	return result;
}

/* --- the token --- */

bool instance_metadata_read_token(const char *body, size_t size, char token[METADATA_TOKEN_MOST])
{
	for (; size && isspace((unsigned char)*body); size--)
		body++;
	while (size && isspace((unsigned char)body[size - 1]))
		size--;
	if (size == 0 || size >= METADATA_TOKEN_MOST || *body == '<' || *body == '{')
		return false;
	for (size_t i = 0; i < size; i++) {
		if (!isgraph((unsigned char)body[i]))
			return false;
		token[i] = body[i];
	}
	token[size] = '\0';
	return true;
}

int instance_metadata_renew_token(struct instance_metadata *client, struct cancel *cancel,
				  struct err *err)
{
	const struct http_response *response = &client->response;
	const char *name = services[client->service].token, *ttl;
	char ask[80], token[METADATA_TOKEN_MOST];
	uint64_t ttl_seconds = TOKEN_TTL_SECONDS;

	snprintf(ask, sizeof(ask), "%s-ttl-seconds: %d", name, TOKEN_TTL_SECONDS);
	client->refresh_ms = clock_monotonic_ms() + TOKEN_RETRY_MS;
	if (instance_metadata_send(client, "PUT", TOKEN_PATH, ask, NULL, cancel, err) < 0)
		return -1;
	/* Google's header: another cloud answers. */
	if (response->status != 200 || http_header(response, "Metadata-Flavor") ||
	    !instance_metadata_read_token((const char *)response->body.data, response->body.size,
					  token))
		return err_set(err, ERR_DENIED, "it answers %d to a request for a token",
			       response->status);
	snprintf(client->token_header, sizeof(client->token_header), "%s: %s", name, token);
	ttl = http_header(response, INSTANCE_METADATA_TTL);
	if (!ttl || !text_to_u64(ttl, TOKEN_TTL_SECONDS, &ttl_seconds))
		ttl_seconds = TOKEN_TTL_SECONDS;
	/* At half-life: long before its end, and there is time for failures. */
	client->refresh_ms = response->arrived_ms + (int64_t)ttl_seconds * 500;
	return 0;
}

static bool needs_token(const struct instance_metadata *client)
{
	int status = client->response.status;

	return services[client->service].token &&
	       (status == 401 || (status == 403 && client->service == METADATA_ALIBABA));
}

static int get_once(struct instance_metadata *client, const char *path, struct cancel *cancel,
		    struct err *err)
{
	return instance_metadata_send(client, "GET", path,
				      client->token_header[0] ? client->token_header : NULL, NULL,
				      cancel, err);
}

int instance_metadata_get(struct instance_metadata *client, const char *path, struct cancel *cancel,
			  struct err *err)
{
	int status;

	if (client->token_header[0] && clock_left_ms(client->refresh_ms) == 0)
		instance_metadata_renew_token(client, cancel, NULL);
	if (get_once(client, path, cancel, err) < 0)
		return -1;
	if (!needs_token(client))
		return 0;
	status = client->response.status;
	/* What was refused is not sent again: a service that has stopped giving tokens may answer
	 * without. */
	client->token_header[0] = '\0';
	if (instance_metadata_renew_token(client, cancel, NULL) < 0)
		return err_set(err, ERR_RETRY,
			       "a token is required (it answers %d), and none is given", status);
	return get_once(client, path, cancel, err);
}
