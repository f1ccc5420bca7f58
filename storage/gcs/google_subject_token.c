#include "google_subject_token.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/json.h"
#include "base/program.h"
#include "google_source_aws.h"
#include "storage/http/http.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	SUBJECT_LIMIT = 256 * 1024,
	HEADERS_MOST = 16,
};

static int subject_from_file(const struct google_account *account, char **subject, struct err *err)
{
	auto_(bytes_release) struct bytes text = {.limit = SUBJECT_LIMIT};

	if (file_read(account->file, &text, err) < 0)
		return err_wrap(err, "the subject token");
	if (google_account_subject(account, text.data, text.size, subject, err) < 0)
		return err_wrap(err, "%s", account->file);
	return 0;
}

static int subject_from_url(const struct google_account *account, char **subject,
			    struct cancel *cancel, struct err *err)
{
	auto_(http_response_release) struct http_response response = {0};
	char *headers[HEADERS_MOST + 1] = {NULL};
	size_t count = 0;
	const char *name;
	json_t *value;
	int result;

	json_object_foreach(account->url_headers, name,
			    value) if (count < HEADERS_MOST && json_is_string(value))
		headers[count++] = text_format("%s: %s", name, json_string_value(value));
	result = token_endpoint_perform(
		&(struct token_endpoint){
			.name = "the source of the subject token",
			.url = account->url,
			.headers = (const char *const *)headers,
			.metadata = strncasecmp(account->url, "http://", 7) == 0,
		},
		&response, cancel, err);
	for (size_t i = 0; i < count; i++)
		free(headers[i]);
	if (result < 0)
		return -1;
	return google_account_subject(account, response.body.data, response.body.size, subject,
				      err);
}

/* --- a program --- */

int google_subject_token_parse(const void *text, size_t size, int64_t wall_ms, char **subject,
			       struct err *err)
{
	auto_json json_t *object = json_parse(text, size, NULL);
	const char *type = json_text_or(object, "token_type", "");
	const char *token =
		json_text_or(object, text_ends(type, ":saml2") ? "saml_response" : "id_token", "");
	int64_t expires = json_number_or(object, "expiration_time", 0);
	char words[200];

	if (json_number_or(object, "version", 0) != 1)
		return err_set(err, ERR_FAILED, "it does not print {\"version\": 1, ...}");
	if (!json_is_true(json_object_get(object, "success"))) {
		text_set(words, sizeof(words), json_text_or(object, "message", "no reason"));
		text_to_line(words);
		return err_set(err, ERR_DENIED, "it says: %s", words);
	}
	if (!bearer_token_is_valid(token))
		return err_set(err, ERR_FAILED, "the executable printed no token");
	if (expires && expires <= wall_ms / 1000)
		return err_set(err, ERR_RETRY, "the token that it prints has expired");
	*subject = text_copy(token);
	return 0;
}

static int run_program(const struct google_account *account, struct bytes *output,
		       struct cancel *cancel, struct err *err)
{
	auto_free char *audience =
		text_format("GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE=%s", account->audience);
	auto_free char *type =
		text_format("GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE=%s", account->subject_type);
	char *const argv[] = {
		(char *)"/usr/bin/env",
		audience,
		type,
		(char *)"GOOGLE_EXTERNAL_ACCOUNT_INTERACTIVE=0",
		(char *)"/bin/sh",
		(char *)"-c",
		(char *)account->command,
		NULL,
	};
	int status;

	if (program_run(
		    &(struct program){
			    .argv = argv,
			    .timeout_ms = account->command_ms,
			    .cancel = cancel,
		    },
		    output, &status, err) < 0)
		return -1;
	/* One that fails may say why, in the same form. */
	if (status != 0 && output->size == 0)
		return err_set(err, ERR_DENIED, "it failed and printed nothing");
	return 0;
}

/* Google's own libraries ask for this as well: whoever can write the file could
 * otherwise run anything. */
#define ALLOW_VARIABLE "GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES"

static int subject_from_program(const struct google_account *account, int64_t wall_ms,
				char **subject, struct cancel *cancel, struct err *err)
{
	auto_(bytes_release) struct bytes output = {.limit = SUBJECT_LIMIT};
	const char *allowed = getenv(ALLOW_VARIABLE);
	int result;

	if (!text_equal(allowed, "1"))
		return err_set(err, ERR_DENIED,
			       "its credential_source is a program, which is run only "
			       "with " ALLOW_VARIABLE "=1");
	result = run_program(account, &output, cancel, err);
	if (result == 0)
		result =
			google_subject_token_parse(output.data, output.size, wall_ms, subject, err);
	if (output.data)
		explicit_bzero(output.data, output.size);
	/* The command itself may hold a secret. */
	return result < 0 ? err_wrap(err, "the program of its credential_source") : 0;
}

int google_subject_token_get(const struct google_account *account, int64_t wall_ms, char **subject,
			     struct cancel *cancel, struct err *err)
{
	if (account->aws_url)
		return google_source_aws_subject(account->aws_url, account->audience, wall_ms,
						 subject, cancel, err);
	if (account->command)
		return subject_from_program(account, wall_ms, subject, cancel, err);
	if (account->url)
		return subject_from_url(account, subject, cancel, err);
	return subject_from_file(account, subject, err);
}
