/* What is sent to Google for each kind of account, to the byte, and what is made of the answers;
 * against a server that plays the token services and the metadata server. */
#include "storage/gcs/google_credentials.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/httpd.h"
#include "base/json.h"
#include "test_key.h"

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STORAGE "https://www.googleapis.com/auth/devstorage.read_write"
#define STORAGE_IN_FORM "https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fdevstorage.read_write"
#define ALL_IN_FORM "https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fcloud-platform"

static struct {
	struct httpd *httpd;
	char said[4096]; /* the requests, one line each */
	const char *impersonated, *flavor;
} server;

static struct err err;

static void answer(void *arg, const struct httpd_request *request, struct httpd_reply *reply)
{
	const char *authorization = httpd_request_header(request, "Authorization");
	const char *flavor = httpd_request_header(request, "Metadata-Flavor");
	size_t used = strlen(server.said);

	(void)arg;
	snprintf(server.said + used, sizeof(server.said) - used, "%s %s [%s] %s%.*s\n",
		 request->method, request->path, authorization ? authorization : "",
		 flavor ? flavor : "", (int)request->body_size, (const char *)request->body);
	if (strcmp(request->path, "/token") == 0) {
		httpd_reply_text(reply, 200, "{\"access_token\":\"own\",\"expires_in\":100}");
	} else if (strcmp(request->path, "/act") == 0) {
		httpd_reply_text(reply, 200, server.impersonated);
	} else if (strstr(request->path, "/service-accounts/default/token")) {
		if (server.flavor)
			httpd_reply_header(reply, "Metadata-Flavor", "%s", server.flavor);
		httpd_reply_text(reply, 200, "{\"access_token\":\"machine\",\"expires_in\":900}");
	} else {
		httpd_reply_text(reply, 404, "");
	}
}

static char *url_of(const char *path)
{
	return text_format("http://127.0.0.1:%u%s", httpd_port(server.httpd), path);
}

static int exchange(const struct google_account *account, struct credential *token)
{
	server.said[0] = '\0';
	err = (struct err){0};
	*token = (struct credential){0};
	return google_token_exchange_account(account, 1775944800000, token, NULL, &err);
}

/* In `seconds`, give or take what this has taken. */
static void check_end(const struct credential *token, int64_t before_ms, int64_t seconds)
{
	assert_in_range(token->expires_ms, before_ms + seconds * 1000 - 1000,
			clock_monotonic_ms() + seconds * 1000 + 1000);
}

static void test_person(void **state)
{
	auto_free char *url = url_of("/token");
	struct google_account account = {
		.kind = GOOGLE_USER,
		.client_id = "id",
		.client_secret = "s&t",
		.refresh_token = "again",
		.token_url = url,
	};
	struct credential token;
	int64_t before = clock_monotonic_ms();

	(void)state;
	assert_int_equal(exchange(&account, &token), 0);
	assert_string_equal(token.text, "own");
	check_end(&token, before, 100);
	assert_string_equal(server.said,
			    "POST /token [] grant_type=refresh_token&client_id=id&client_secret="
			    "s%26t&refresh_token=again\n");
	free(token.text);
	account.token_url = "http://192.0.2.1/token";
	assert_int_equal(exchange(&account, &token), -1);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_non_null(strstr(err.text, "no secret is sent over plain http"));
	assert_null(strstr(err.text, "s&t"));
}

static char directory[] = "/tmp/reprieve-test-XXXXXX";

static struct google_account external(const char *url, const char *file)
{
	return (struct google_account){
		.kind = GOOGLE_EXTERNAL,
		.token_url = url,
		.audience = "pool",
		.subject_type = "jwt",
		.file = file,
		.impersonation_life = 1800,
	};
}

static void test_another_issuer(void **state)
{
	auto_free char *url = url_of("/token"), *file = text_format("%s/subject", directory);
	struct google_account account = external(url, file);
	struct credential token;
	int64_t before = clock_monotonic_ms();

	(void)state;
	assert_int_equal(exchange(&account, &token), 0);
	assert_string_equal(token.text, "own");
	check_end(&token, before, 100);
	free(token.text);
	assert_string_equal(server.said,
			    "POST /token [] "
			    "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange&"
			    "requested_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%"
			    "3Aaccess_token&"
			    "audience=pool&scope=" STORAGE_IN_FORM
			    "&subject_token_type=jwt&subject_token=sub-ject\n");
	account.client_id = "id";
	assert_int_equal(exchange(&account, &token), 0);
	assert_non_null(strstr(server.said, "POST /token [] "));
	free(token.text);
	account.client_secret = "secret";
	assert_int_equal(exchange(&account, &token), 0);
	assert_non_null(strstr(server.said, "POST /token [Basic aWQ6c2VjcmV0] "));
	free(token.text);
	account.token_url = "http://192.0.2.1/token";
	assert_int_equal(exchange(&account, &token), -1);
	assert_int_equal(err.kind, ERR_INVALID);
}

static void test_acting_as_a_service_account(void **state)
{
	auto_free char *url = url_of("/token"), *act = url_of("/act");
	auto_free char *file = text_format("%s/subject", directory);
	auto_json json_t *delegates = json_pack("[s]", "boss");
	struct google_account account = external(url, file);
	struct credential token;
	char answer_text[200], end[32];
	int64_t before = clock_monotonic_ms();
	static const char *const refused[] =
		{"{}", "{\"accessToken\":\"t\"}", "{\"accessToken\":\"t\",\"expireTime\":\"soon\"}",
		 "{\"accessToken\":\"\",\"expireTime\":\"2026-04-11T22:00:00Z\"}", "nothing"};

	(void)state;
	clock_format(clock_wall_ms() + 500000, end, sizeof(end));
	snprintf(answer_text, sizeof(answer_text),
		 "{\"accessToken\":\"acted\",\"expireTime\":\"%s\"}", end);
	server.impersonated = answer_text;
	account.impersonation_url = act;
	assert_int_equal(exchange(&account, &token), 0);
	assert_string_equal(token.text, "acted");
	check_end(&token, before, 500);
	free(token.text);
	assert_non_null(strstr(server.said, "&scope=" ALL_IN_FORM "&"));
	assert_non_null(strstr(server.said, "POST /act [Bearer own] {\"scope\":[\"" STORAGE
					    "\"],\"lifetime\":\"1800s\"}\n"));
	account.delegates = delegates;
	assert_int_equal(exchange(&account, &token), 0);
	assert_non_null(strstr(server.said, ",\"delegates\":[\"boss\"]}\n"));
	free(token.text);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		server.impersonated = refused[i];
		assert_int_equal(exchange(&account, &token), -1);
		assert_int_equal(err.kind, ERR_FAILED);
		assert_non_null(strstr(err.text, "no token in the answer"));
	}
	account.impersonation_url = "http://192.0.2.1/act";
	assert_int_equal(exchange(&account, &token), -1);
	assert_int_equal(err.kind, ERR_INVALID);
}

static void test_impersonated_through_another_file(void **state)
{
	auto_free char *act = url_of("/act"), *url = url_of("/token");
	auto_free char *file = text_format("%s/subject", directory);
	auto_json json_t *source =
		json_pack("{s:s, s:s, s:s, s:s, s:{s:s}}", "type", "external_account", "audience",
			  "pool", "subject_token_type", "jwt", "token_url", url,
			  "credential_source", "file", file);
	auto_json json_t *itself =
		json_pack("{s:s, s:s, s:O}", "type", "impersonated_service_account",
			  "service_account_impersonation_url", act, "source_credentials", source);
	auto_json json_t *nothing = json_object();
	struct google_account account = {
		.kind = GOOGLE_IMPERSONATED,
		.impersonation_url = act,
		.impersonation_life = 3600,
		.source = source,
	};
	struct credential token;

	(void)state;
	server.impersonated = "{\"accessToken\":\"acted\",\"expireTime\":\"2099-01-01T00:00:00Z\"}";
	assert_int_equal(exchange(&account, &token), 0);
	assert_string_equal(token.text, "acted");
	free(token.text);
	account.source = itself;
	assert_int_equal(exchange(&account, &token), -1);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_non_null(strstr(err.text, "impersonated themselves"));
	account.source = nothing;
	assert_int_equal(exchange(&account, &token), -1);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_non_null(strstr(err.text, "source_credentials"));
}

static void test_machine(void **state)
{
	auto_free char *url = url_of("");
	struct metadata_endpoint endpoint = {.is_named = true};
	struct credential token = {0};
	int64_t before = clock_monotonic_ms();

	(void)state;
	snprintf(endpoint.url, sizeof(endpoint.url), "%s", url);
	server.flavor = "Google";
	server.said[0] = '\0';
	assert_int_equal(google_token_exchange_machine(&endpoint, &token, NULL, &err), 0);
	assert_string_equal(token.text, "machine");
	check_end(&token, before, 900);
	free(token.text);
	assert_string_equal(server.said,
			    "GET /computeMetadata/v1/instance/service-accounts/default/token [] "
			    "Google\n");
	/* Whatever answers there is not believed for that. */
	for (int i = 0; i < 2; i++) {
		server.flavor = i ? "Azure" : NULL;
		assert_int_equal(google_token_exchange_machine(&endpoint, &token, NULL, &err), -1);
		assert_int_equal(err.kind, ERR_DENIED);
		assert_non_null(strstr(err.text, "is no Google metadata server"));
	}
}

static int start(void **state)
{
	auto_free char *file = NULL;

	(void)state;
	unsetenv("http_proxy");
	if (!mkdtemp(directory) ||
	    httpd_start(&(struct httpd_options){.handler = answer}, &server.httpd, &err) < 0)
		return -1;
	file = text_format("%s/subject", directory);
	return file_write(file, "sub-ject", 8, &err);
}

static int stop(void **state)
{
	(void)state;
	httpd_stop(server.httpd);
	return file_remove_tree(directory, &err);
}

/* The middle part of a JWT. */
static json_t *claims_of(const char *token)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	const char *at = strchr(token, '.') + 1, *end = strchr(at, '.');
	char text[1000];
	size_t size = 0, bits = 0;
	unsigned value = 0;

	for (; at < end; at++) {
		value = value << 6 | (unsigned)(strchr(digits, *at) - digits);
		bits += 6;
		if (bits >= 8)
			text[size++] = (char)(value >> (bits -= 8));
	}
	return json_parse(text, size, NULL);
}

/* Its key signs; nothing is sent. */
static void test_service_account(void **state)
{
	struct google_account account = {
		.kind = GOOGLE_SERVICE_ACCOUNT,
		.email = "robot@example",
		.key_pem = test_key,
	};
	struct credential token;
	int64_t before = clock_monotonic_ms();
	auto_json json_t *claims = NULL;

	(void)state;
	assert_int_equal(exchange(&account, &token), 0);
	assert_string_equal(server.said, "");
	check_end(&token, before, 3600);
	claims = claims_of(token.text);
	free(token.text);
	assert_string_equal(json_text_or(claims, "iss", ""), "robot@example");
	assert_string_equal(json_text_or(claims, "sub", ""), "robot@example");
	assert_string_equal(json_text_or(claims, "scope", ""), STORAGE);
	assert_int_equal(json_integer_value(json_object_get(claims, "iat")), 1775944800);
	assert_int_equal(json_integer_value(json_object_get(claims, "exp")), 1775944800 + 3600);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_person),
		cmocka_unit_test(test_another_issuer),
		cmocka_unit_test(test_acting_as_a_service_account),
		cmocka_unit_test(test_impersonated_through_another_file),
		cmocka_unit_test(test_machine),
		cmocka_unit_test(test_service_account),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
