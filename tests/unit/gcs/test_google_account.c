/* Files of Application Default Credentials: what is read, and what is refused with which words. */
#include "unit.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"
#include "storage/gcs/google_credentials.h"

#include <stdlib.h>
#include <string.h>

// clang-format off
#define EXTERNAL(source) \
	"{'type':'external_account','audience':'a','subject_token_type':'t','token_url':'u'," \
	"'credential_source':{" source "}}"
static const struct {
	const char *text;
	enum google_account_kind kind;
	const char *refused; /* part of the words; NULL: it is fine */
} rows[] = {
	{"{'type':'service_account','client_email':'e','private_key':'SECRET'}",
		GOOGLE_SERVICE_ACCOUNT, NULL},
	{"{'type':'service_account','private_key':'SECRET'}",
		GOOGLE_SERVICE_ACCOUNT, "client_email"},
	{"{'type':'service_account','client_email':'e','private_key':7}",
		GOOGLE_SERVICE_ACCOUNT, "private_key"},
	{"{'type':'authorized_user','client_id':'i','client_secret':'SECRET',"
		"'refresh_token':'SECRET'}", GOOGLE_USER, NULL},
	{"{'type':'authorized_user','client_id':'i','client_secret':'SECRET'}",
		GOOGLE_USER, "refresh_token"},
	{"{'type':'external_account','audience':'a','subject_token_type':'t','token_url':'u',"
		"'credential_source':{'file':'f'}}", GOOGLE_EXTERNAL, NULL},
	{"{'type':'external_account','audience':'a','subject_token_type':'t','token_url':'u',"
		"'credential_source':{'url':'f','format':{'type':'json',"
		"'subject_token_field_name':'n'}}}", GOOGLE_EXTERNAL, NULL},
	{"{'type':'external_account','audience':'a','subject_token_type':'t','token_url':'u',"
		"'credential_source':{'url':'f','format':{'type':'json'}}}",
		GOOGLE_EXTERNAL, "subject_token_field_name"},
	{EXTERNAL("'environment_id':'aws1'"), GOOGLE_EXTERNAL, "environment_id"},
	{EXTERNAL("'executable':{'command':'SECRET'}"), GOOGLE_EXTERNAL, "executable"},
	{EXTERNAL("'certificate':{'use_default_certificate_config':true}"), GOOGLE_EXTERNAL,
		"certificate"},
	{"{'type':'external_account','audience':'a','subject_token_type':'t','token_url':'u'}",
		GOOGLE_EXTERNAL, "neither"},
	{"{'type':'external_account','audience':'a','subject_token_type':'t'}",
		GOOGLE_EXTERNAL, "token_url"},
	{"{'type':'impersonated_service_account','service_account_impersonation_url':'u',"
		"'source_credentials':{}}", GOOGLE_IMPERSONATED, NULL},
	{"{'type':'impersonated_service_account','service_account_impersonation_url':'u'}",
		GOOGLE_IMPERSONATED, "source_credentials"},
	{"{'type':'gdch_service_account'}", GOOGLE_USER, "type"},
	{"{}", GOOGLE_USER, "type"},
};
// clang-format on

static json_t *parse(const char *text)
{
	auto_free char *quoted = text_copy(text);

	for (char *at = quoted; *at; at++)
		if (*at == '\'')
			*at = '"';
	return json_parse(quoted, strlen(quoted), NULL);
}

static void table(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_json json_t *object = parse(rows[i].text);
		struct google_account account;
		struct err err = {0};
		int result = google_account_read(object, &account, &err);

		assert_non_null(object);
		if ((result < 0) != (rows[i].refused != NULL) ||
		    (result < 0 && !strstr(err.text, rows[i].refused)))
			fail_msg("row %zu: %s", i, err.text);
		assert_null(strstr(err.text, "SECRET"));
		if (result < 0)
			assert_int_equal(err.kind, ERR_INVALID);
		else
			assert_int_equal(account.kind, rows[i].kind);
	}
}

static void subjects(void **state)
{
	static const struct {
		const char *field, *text, *token;
	} cases[] = {
		{NULL, "abc\r\n", "abc"},
		{NULL, "a b", NULL},
		{NULL, "\n", NULL},
		{NULL, "", NULL},
		{"t", "{\"t\":\"abc\"}", "abc"},
		{"t", "{\"u\":\"abc\"}", NULL},
		{"t", "abc", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct google_account account = {.subject_field = cases[i].field};
		auto_free char *token = NULL;
		struct err err = {0};

		if ((google_account_subject(&account, cases[i].text, strlen(cases[i].text), &token,
					    &err) == 0) != (cases[i].token != NULL) ||
		    !text_equal(token, cases[i].token))
			fail_msg("case %zu: %s", i, token ? token : err.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table),
		cmocka_unit_test(subjects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
