#include "google_account.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"
#include "storage/http/http.h"

#include <string.h>

#define TOKEN_URL "https://oauth2.googleapis.com/token"

enum {
	IMPERSONATION_SECONDS = 3600,
	PROGRAM_MS = 30 * 1000, /* AIP-4117; between 5 and 120 s */
	PROGRAM_LEAST_MS = 5 * 1000,
	PROGRAM_MOST_MS = 120 * 1000,
};

static int require_text(json_t *object, const char *name, const char **value, struct err *err)
{
	*value = json_text_or(object, name, "");
	return (*value)[0] ? 0 : err_set(err, ERR_INVALID, "it has no \"%s\"", name);
}

static int read_service_account(json_t *object, struct google_account *account, struct err *err)
{
	account->key_id = json_text_or(object, "private_key_id", NULL);
	if (require_text(object, "client_email", &account->email, err) < 0)
		return -1;
	return require_text(object, "private_key", &account->key_pem, err);
}

static int read_user(json_t *object, struct google_account *account, struct err *err)
{
	account->token_url = json_text_or(object, "token_uri", TOKEN_URL);
	if (require_text(object, "client_id", &account->client_id, err) < 0 ||
	    require_text(object, "client_secret", &account->client_secret, err) < 0)
		return -1;
	return require_text(object, "refresh_token", &account->refresh_token, err);
}

static int read_subject_format(json_t *source, struct google_account *account, struct err *err)
{
	json_t *format = json_object_get(source, "format");
	const char *type = json_text_or(format, "type", "text");

	if (strcmp(type, "text") == 0)
		return 0;
	if (strcmp(type, "json") != 0)
		return err_set(err, ERR_INVALID, "its subject token has an unknown format");
	return require_text(format, "subject_token_field_name", &account->subject_field, err);
}

static int read_aws(json_t *source, struct google_account *account, struct err *err)
{
	if (strcmp(json_text_or(source, "environment_id", ""), "aws1") != 0)
		return err_set(err, ERR_INVALID,
			       "its credential_source has an \"environment_id\" that is not aws1");
	return require_text(source, "regional_cred_verification_url", &account->aws_url, err);
}

static int read_program(json_t *program, struct google_account *account, struct err *err)
{
	account->command_ms = json_number_or(program, "timeout_millis", PROGRAM_MS);
	if (account->command_ms < PROGRAM_LEAST_MS || account->command_ms > PROGRAM_MOST_MS)
		return err_set(err, ERR_INVALID, "its \"timeout_millis\" is not 5000 to 120000");
	return require_text(program, "command", &account->command, err);
}

static int read_subject_source(json_t *source, struct google_account *account, struct err *err)
{
	if (json_object_get(source, "environment_id"))
		return read_aws(source, account, err);
	if (json_object_get(source, "executable"))
		return read_program(json_object_get(source, "executable"), account, err);
	if (json_object_get(source, "certificate"))
		return err_set(err, ERR_INVALID,
			       "credential_source \"certificate\" is not supported; use file, "
			       "url, executable or aws");
	account->file = json_text_or(source, "file", NULL);
	account->url = json_text_or(source, "url", NULL);
	if (!account->file == !account->url)
		return err_set(err, ERR_INVALID,
			       "its credential_source has neither \"file\" nor \"url\", or both");
	account->url_headers = json_object_get(source, "headers");
	return read_subject_format(source, account, err);
}

static void read_impersonation(json_t *object, struct google_account *account)
{
	json_t *options = json_object_get(object, "service_account_impersonation");

	account->impersonation_url =
		json_text_or(object, "service_account_impersonation_url", NULL);
	account->impersonation_life =
		json_number_or(options, "token_lifetime_seconds", IMPERSONATION_SECONDS);
	account->delegates = json_object_get(object, "delegates");
}

static int read_external(json_t *object, struct google_account *account, struct err *err)
{
	account->client_id = json_text_or(object, "client_id", NULL);
	account->client_secret = json_text_or(object, "client_secret", NULL);
	read_impersonation(object, account);
	if (require_text(object, "audience", &account->audience, err) < 0 ||
	    require_text(object, "subject_token_type", &account->subject_type, err) < 0 ||
	    require_text(object, "token_url", &account->token_url, err) < 0)
		return -1;
	return read_subject_source(json_object_get(object, "credential_source"), account, err);
}

static int read_impersonated(json_t *object, struct google_account *account, struct err *err)
{
	const char *url;

	read_impersonation(object, account);
	account->source = json_object_get(object, "source_credentials");
	if (!json_is_object(account->source))
		return err_set(err, ERR_INVALID, "it has no \"source_credentials\"");
	return require_text(object, "service_account_impersonation_url", &url, err);
}

int google_account_read(json_t *object, struct google_account *account, struct err *err)
{
	static const struct {
		const char *type;
		enum google_account_kind kind;
		int (*read)(json_t *object, struct google_account *account, struct err *err);
	} kinds[] = {
		{"service_account", GOOGLE_SERVICE_ACCOUNT, read_service_account},
		{"authorized_user", GOOGLE_USER, read_user},
		{"external_account", GOOGLE_EXTERNAL, read_external},
		{"impersonated_service_account", GOOGLE_IMPERSONATED, read_impersonated},
	};
	const char *type = json_text_or(object, "type", "");

	*account = (struct google_account){0};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(type, kinds[i].type) != 0)
			continue;
		account->kind = kinds[i].kind;
		return kinds[i].read(object, account, err);
	}
	return err_set(err, ERR_INVALID,
		       "its \"type\" is not one of service_account, authorized_user, "
		       "external_account, impersonated_service_account");
}

int google_account_subject(const struct google_account *account, const void *text, size_t size,
			   char **token, struct err *err)
{
	auto_json json_t *object = NULL;
	const char *start = text;

	if (account->subject_field) {
		object = json_parse(text, size, NULL);
		start = json_text_or(object, account->subject_field, "");
		size = strlen(start);
	}
	/* A token file may end in a newline. */
	while (size && strchr(" \t\r\n", start[size - 1]))
		size--;
	*token = text_copy_n(size ? start : "", size);
	if (bearer_token_is_valid(*token))
		return 0;
	free(steal(token));
	return err_set(err, ERR_FAILED, "there is no subject token in it");
}
