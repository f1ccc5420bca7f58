#include "token_endpoint.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* A bearer token and its life, as token services hand it out; kept in a credential_cache. */

enum {
	ANSWER_LIMIT = 256 * 1024
};

bool bearer_token_is_valid(const char *text)
{
	if (!text || !text[0])
		return false;
	for (; *text; text++)
		if (*text <= ' ' || *text > '~')
			return false;
	return true;
}

char *bearer_token_trimmed(const char *text, size_t size)
{
	while (size && strchr(" \t\r\n", text[size - 1]))
		size--;
	return text_copy_n(size ? text : "", size);
}

int bearer_token_read_file(const char *path, char **token, struct err *err)
{
	auto_(bytes_release) struct bytes text = {.limit = ANSWER_LIMIT};

	if (file_read(path, &text, err) < 0)
		return -1;
	*token = bearer_token_trimmed((const char *)text.data, text.size);
	if (text.data)
		explicit_bzero(text.data, text.size);
	if (bearer_token_is_valid(*token))
		return 0;
	secret_free(steal(token));
	return err_set(err, ERR_FAILED, "%s holds no token", path);
}

enum {
	TRIES = 3,
	FIRST_PAUSE_MS = 300,
	LONGEST_PAUSE_MS = 600,
	METADATA_CONNECT_MS = 1000,
	METADATA_MS = 5000,
	SERVICE_CONNECT_MS = 5000,
	SERVICE_MS = 15000,
	LIFETIME_DEFAULT_SECONDS = 300,
	LIFETIME_MOST_SECONDS = 7 * 24 * 3600,
};

/* A number that may be text; -1 where there is none. */
static int64_t number_member(json_t *object, const char *name)
{
	json_t *value = json_object_get(object, name);
	uint64_t number;

	if (json_is_integer(value))
		return json_integer_value(value);
	if (json_is_string(value) && text_to_u64(json_string_value(value), INT64_MAX, &number))
		return (int64_t)number;
	return -1;
}

static int64_t token_lifetime_s(json_t *object, int64_t wall_ms)
{
	int64_t life = number_member(object, "expires_in"),
		until = number_member(object, "expires_on");

	if (life < 0)
		life = until < 0 ? LIFETIME_DEFAULT_SECONDS : until - wall_ms / 1000;
	if (life < 0)
		life = 0;
	return life > LIFETIME_MOST_SECONDS ? LIFETIME_MOST_SECONDS : life;
}

int token_endpoint_parse(const void *body, size_t size, int64_t now_ms, int64_t wall_ms,
			 struct credential *token, struct err *err)
{
	struct err why = {0};
	auto_json json_t *object = json_parse(body, size, &why);
	const char *text = json_text_or(object, "access_token", "");
	const char *type = json_text_or(object, "token_type", "Bearer");

	/* The parser's words could quote the answer. */
	if (!json_is_object(object))
		return err_set(err, ERR_FAILED, "the answer is no JSON object");
	if (!bearer_token_is_valid(text))
		return err_set(err, ERR_FAILED, "the answer has no access_token");
	if (strcasecmp(type, "Bearer") != 0)
		return err_set(err, ERR_FAILED, "the token is no bearer token");
	token->text = text_copy(text);
	token->expires_ms = now_ms + token_lifetime_s(object, wall_ms) * 1000;
	return 0;
}

void token_endpoint_error_text(const void *body, size_t size, char *words, size_t capacity)
{
	struct err ignored;
	auto_json json_t *object = json_parse(body, size, &ignored);
	json_t *error = json_object_get(object, "error");
	const char *text = json_text_or(object, "error_description", NULL);

	if (!text)
		text = json_text_or(error, "message", NULL);
	if (!text)
		text = json_is_string(error) ? json_string_value(error) : "";
	text_set(words, capacity, text);
	text_to_line(words);
}

static int check_status(const struct http_response *response, const char *name, struct err *err)
{
	int status = response->status;
	/* 410: Azure's metadata service is being updated. */
	bool passing = status == 408 || status == 410 || status == 429 || status >= 500;
	char words[200];

	if (status == 200)
		return 0;
	token_endpoint_error_text(response->body.data, response->body.size, words, sizeof(words));
	return err_set(err, passing ? ERR_RETRY : ERR_DENIED, "%s says %d%s%s", name, status,
		       words[0] ? ": " : "", words);
}

static int ask_once(struct http *http, const struct token_endpoint *endpoint,
		    struct http_response *response, struct cancel *cancel, struct err *err)
{
	const struct http_request request = {
		.method = endpoint->method,
		.url = endpoint->url,
		.headers = endpoint->headers,
		.body = endpoint->body,
		.body_size = endpoint->body ? strlen(endpoint->body) : 0,
		.no_proxy = endpoint->metadata,
		.connect_timeout_ms = endpoint->metadata ? METADATA_CONNECT_MS : SERVICE_CONNECT_MS,
		.timeout_ms = endpoint->metadata ? METADATA_MS : SERVICE_MS,
	};

	response->body.limit = ANSWER_LIMIT;
	if (http_perform(http, &request, response, cancel, err) < 0)
		return err_wrap(err, "%s", endpoint->name);
	return check_status(response, endpoint->name, err);
}

int token_endpoint_perform(const struct token_endpoint *endpoint, struct http_response *response,
			   struct cancel *cancel, struct err *err)
{
	auto_(http_free) struct http *http = NULL;
	struct err why = {0};
	int64_t pause_ms;

	if (http_new(&http, err) < 0)
		return -1;
	for (unsigned tries = 1;; tries++) {
		if (ask_once(http, endpoint, response, cancel, &why) == 0)
			return 0;
		if (why.kind != ERR_RETRY || tries == TRIES)
			break;
		pause_ms = backoff_ms(tries, FIRST_PAUSE_MS, LONGEST_PAUSE_MS, BACKOFF_WHOLE);
		if (cancel_sleep(cancel, pause_ms, err) < 0)
			return -1;
	}
	/* Nobody there at all: not that cloud's machine, and waiting does not make it one. */
	if (endpoint->metadata && why.kind == ERR_RETRY && response->status == 0)
		why.kind = ERR_DENIED;
	return err_pass(err, &why);
}

int token_endpoint_get(const struct token_endpoint *endpoint, struct credential *token,
		       struct cancel *cancel, struct err *err)
{
	auto_(http_response_release) struct http_response response = {0};

	if (token_endpoint_perform(endpoint, &response, cancel, err) < 0)
		return -1;
	if (token_endpoint_parse(response.body.data, response.body.size, clock_monotonic_ms(),
				 clock_wall_ms(), token, err) < 0)
		return err_wrap(err, "%s", endpoint->name);
	return 0;
}
