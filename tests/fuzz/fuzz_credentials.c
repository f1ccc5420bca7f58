/* Files and answers that hold credentials: AWS's shared files, JSON of metadata services and
 * programs, Google's files, Azure's string. */
#include "fuzz.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "storage/aws/aws_credentials.h"
#include "storage/azure/azure.h"
#include "storage/gcs/google_credentials.h"
#include "storage/http/token_endpoint.h"
#include "storage/http/uri.h"

/* What was read means the same when it is written again. */
static void write_setting(const struct aws_ini_setting *setting)
{
	auto_(aws_ini_release) struct aws_ini again = {0};
	auto_free char *text = text_format("[x]\n %s =%s\n", setting->name, setting->value);

	/* Such a line would be another thing: no name, a comment. */
	if (!setting->name[0] || strchr("#;", setting->name[0]))
		return;
	aws_ini_parse(&again, AWS_INI_CREDENTIALS, text);
	CHECK(again.count == 1);
	CHECK(strcmp(again.items[0].name, setting->name) == 0);
	CHECK(strcmp(again.items[0].value, setting->value) == 0);
}

static void read_profiles(const char *text)
{
	auto_(aws_ini_release) struct aws_ini profiles = {0};

	aws_ini_parse(&profiles, AWS_INI_CONFIG, text);
	aws_ini_parse(&profiles, AWS_INI_CREDENTIALS, text);
	for (size_t i = 0; i < profiles.count; i++) {
		CHECK(profiles.items[i].section && profiles.items[i].name &&
		      profiles.items[i].value);
		CHECK(!strchr(profiles.items[i].value, '\n'));
		write_setting(&profiles.items[i]);
	}
	(void)aws_ini_get(&profiles, "profile", "default", "region");
	(void)aws_ini_has_profile(&profiles, "default");
}

static void read_answer(const uint8_t *data, size_t size)
{
	auto_(credential_clear) struct credential credentials = {0};
	struct credential token = {0};
	struct err err = {0};
	char words[64];

	if (aws_reply_json(data, size, &credentials, &err) < 0) {
		CHECK(!credentials.access_key && !credentials.secret_key && err.kind);
	} else {
		CHECK(credentials.access_key[0] && fuzz_is_one_line(credentials.access_key));
		CHECK(credentials.secret_key[0] && fuzz_is_one_line(credentials.secret_key));
		CHECK(!credentials.session_token || fuzz_is_one_line(credentials.session_token));
	}
	if (token_endpoint_parse(data, size, 1000, 1775944800000, &token, &err) < 0) {
		CHECK(!token.text);
	} else {
		CHECK(bearer_token_is_valid(token.text) && token.expires_ms >= 1000);
		free(token.text);
	}
	token_endpoint_error_text(data, size, words, sizeof(words));
	CHECK(fuzz_is_one_line(words) && fuzz_is_utf8(words));
}

static void read_account(const uint8_t *data, size_t size)
{
	auto_json json_t *object = json_parse(data, size, NULL);
	struct google_account account;
	struct err err = {0};
	auto_free char *token = NULL;

	if (google_account_read(object, &account, &err) < 0) {
		CHECK(err.kind == ERR_INVALID && err.text[0]);
		return;
	}
	CHECK(account.kind != GOOGLE_SERVICE_ACCOUNT || (account.email && account.key_pem));
	CHECK(account.kind != GOOGLE_EXTERNAL || !!account.file + !!account.url == 1);
	if (google_account_subject(&account, data, size, &token, &err) == 0)
		CHECK(bearer_token_is_valid(token));
	else
		CHECK(!token);
}

static void read_subject(const uint8_t *data, size_t size)
{
	const struct google_account text = {.kind = GOOGLE_EXTERNAL};
	const struct google_account member = {
		.kind = GOOGLE_EXTERNAL,
		.subject_field = "access_token",
	};
	auto_free char *first = NULL, *second = NULL;

	(void)google_account_subject(&text, data, size, &first, NULL);
	(void)google_account_subject(&member, data, size, &second, NULL);
	CHECK(!first || bearer_token_is_valid(first));
	CHECK(!second || bearer_token_is_valid(second));
}

static void read_connection(const char *text)
{
	const struct azure_environment environment = {.connection = text};
	auto_(azure_account_release) struct azure_account account = {0};
	struct err err = {0};

	if (azure_account_read("az://account/container/p", &environment, &account, &err) < 0) {
		CHECK(err.kind == ERR_INVALID);
		return;
	}
	CHECK(strcmp(account.name, "account") == 0 && uri_is_absolute(account.endpoint));
	CHECK(!account.sas || fuzz_is_one_line(account.sas));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_free char *text = fuzz_text(data, size);

	read_profiles(text);
	read_answer(data, size);
	read_account(data, size);
	read_subject(data, size);
	read_connection(text);
	return 0;
}
