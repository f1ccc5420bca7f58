/* az:// URLs and what the environment adds to them. */
#include "unit.h"

#include "base/cleanup.h"
#include "storage/azure/azure.h"

#include <string.h>

#define KEY "a2V5"
#define EMULATED "http://127.0.0.1:10000/devstoreaccount1"

// clang-format off
static const struct {
	const char *name, *url;
	struct azure_environment environment;
	enum err_kind kind;
	const char *endpoint, *prefix, *sas, *key, *source;
} rows[] = {
	{"plain", "az://acct/box", {0}, ERR_NONE,
		"https://acct.blob.core.windows.net", "", NULL, "", NULL},
	{"prefix", "az://acct/box/a/b//", {.key = KEY}, ERR_NONE,
		"https://acct.blob.core.windows.net", "a/b/", NULL, "key", "AZURE_STORAGE_KEY"},
	{"emulator", "az://devstoreaccount1/box", {0}, ERR_NONE, EMULATED, "", NULL, NULL,
		"the emulator's well-known key"},
	{"emulator elsewhere", "az://devstoreaccount1/box",
		{.endpoint = "http://h:1/devstoreaccount1/"}, ERR_NONE,
			"http://h:1/devstoreaccount1", "", NULL, NULL,
			"the emulator's well-known key"},
	{"connection", "az://acct/box",
		{.connection = "DefaultEndpointsProtocol=https;AccountName=acct;AccountKey=" KEY
			"==;EndpointSuffix=core.usgovcloudapi.net"}, ERR_INVALID, NULL, NULL, NULL,
			NULL, NULL},
	{"connection", "az://acct/box",
		{.connection = "DefaultEndpointsProtocol=https;AccountName=acct;AccountKey=" KEY
			";EndpointSuffix=core.usgovcloudapi.net", .sas = "sig=x"}, ERR_NONE,
			"https://acct.blob.core.usgovcloudapi.net",
			"", NULL, "key", "AZURE_STORAGE_CONNECTION_STRING"},
	{"connection to http", "az://acct/box",
		{.connection = " AccountName=acct; accountkey=" KEY
			";;DefaultEndpointsProtocol=http"}, ERR_NONE,
			"http://acct.blob.core.windows.net",
			"", NULL, "key", "AZURE_STORAGE_CONNECTION_STRING"},
	{"connection with a signature", "az://acct/box",
		{.connection = "BlobEndpoint=https://x.example/;SharedAccessSignature=sv=1&"
			"sig=a%2Bb"}, ERR_NONE, "https://x.example", "", "sv=1&sig=a%2Bb", "",
			"AZURE_STORAGE_CONNECTION_STRING"},
	{"development storage", "az://devstoreaccount1/box",
		{.connection = "UseDevelopmentStorage=true"}, ERR_NONE, EMULATED, "", NULL, NULL,
			"the emulator's well-known key"},
	{"connection of another account", "az://acct/box",
		{.connection = "AccountName=other;AccountKey=" KEY}, ERR_INVALID, NULL, NULL, NULL,
			NULL, NULL},
	{"account of another name", "az://acct/box", {.account = "other", .key = KEY}, ERR_INVALID,
		NULL, NULL, NULL, NULL, NULL},
	{"key before signature", "az://acct/box", {.key = KEY, .sas = "?sig=x"}, ERR_NONE,
		"https://acct.blob.core.windows.net", "", NULL, "key", "AZURE_STORAGE_KEY"},
	{"signature", "az://acct/box", {.sas = "?sv=1&sig=x"}, ERR_NONE,
		"https://acct.blob.core.windows.net",
		"", "sv=1&sig=x", "", "AZURE_STORAGE_SAS_TOKEN"},
	{"signature without one",
		"az://acct/box", {.sas = "sv=1"}, ERR_INVALID, NULL, NULL, NULL, NULL, NULL},
	{"signature that splits a header", "az://acct/box", {.sas = "sig=x\r\nHost: y"},
		ERR_INVALID, NULL, NULL, NULL, NULL, NULL},
	{"empty variables", "az://acct/box", {"", "", "", "", ""}, ERR_NONE,
		"https://acct.blob.core.windows.net", "", NULL, "", NULL},
	{"key that is none",
		"az://acct/box", {.key = "!"}, ERR_INVALID, NULL, NULL, NULL, NULL, NULL},
	{"no container", "az://acct", {0}, ERR_INVALID, NULL, NULL, NULL, NULL, NULL},
	{"no account", "az:///box/x", {0}, ERR_INVALID, NULL, NULL, NULL, NULL, NULL},
	{"capitals", "az://Acct/box", {0}, ERR_INVALID, NULL, NULL, NULL, NULL, NULL},
	{"dots could name another host",
		"az://evil.example/box", {0}, ERR_INVALID, NULL, NULL, NULL, NULL, NULL},
	{"query in the prefix",
		"az://acct/box/a?b", {0}, ERR_INVALID, NULL, NULL, NULL, NULL, NULL},
	{"empty part in the prefix",
		"az://acct/box/a//b", {0}, ERR_INVALID, NULL, NULL, NULL, NULL, NULL},
	{"endpoint that is none", "az://acct/box", {.endpoint = "ftp://x"}, ERR_INVALID, NULL, NULL,
		NULL, NULL, NULL},
	{"endpoint without a host", "az://acct/box", {.endpoint = "https://"}, ERR_INVALID, NULL,
		NULL, NULL, NULL, NULL},
	{"endpoint without a host, with a port", "az://acct/box", {.endpoint = "http://:1/acct"},
		ERR_INVALID, NULL, NULL, NULL, NULL, NULL},
	{"suffix of another host", "az://acct/box", {.connection = "EndpointSuffix=x@evil.example"},
		ERR_INVALID, NULL, NULL, NULL, NULL, NULL},
	{"endpoint with a user", "az://acct/box", {.endpoint = "https://u:p@x"}, ERR_INVALID, NULL,
		NULL, NULL, NULL, NULL},
};
// clang-format on

static void table(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_(azure_account_release) struct azure_account account = {0};
		struct err err = {0};
		int result = azure_account_read(rows[i].url, &rows[i].environment, &account, &err);

		if ((result < 0) != (rows[i].kind != ERR_NONE) || err.kind != rows[i].kind)
			fail_msg("%s: %d %s", rows[i].name, result, err.text);
		/* A secret never shows in an error. */
		assert_null(strstr(err.text, KEY));
		if (result < 0)
			continue;
		if (!text_equal(account.endpoint, rows[i].endpoint) ||
		    !text_equal(account.prefix, rows[i].prefix) ||
		    !text_equal(account.sas, rows[i].sas) ||
		    !text_equal(account.source, rows[i].source))
			fail_msg("%s: %s %s", rows[i].name, account.endpoint, account.prefix);
		if (rows[i].key &&
		    (account.key.size != strlen(rows[i].key) ||
		     memcmp(account.key.data ? account.key.data : (const uint8_t *)"", rows[i].key,
			    account.key.size) != 0))
			fail_msg("%s: another key", rows[i].name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(table)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
