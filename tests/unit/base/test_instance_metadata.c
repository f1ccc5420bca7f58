/* Where the metadata services are, by the environment; and the client against a server that plays
 * them. */
#include "base/instance_metadata.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/httpd.h"
#include "base/text.h"

#include "unit.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const variables[] =
	{"AWS_EC2_METADATA_SERVICE_ENDPOINT",
	 "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE",
	 "AWS_EC2_METADATA_DISABLED",
	 "AWS_EC2_METADATA_V1_DISABLED",
	 "AWS_METADATA_SERVICE_TIMEOUT",
	 "GCE_METADATA_HOST",
	 "GCE_METADATA_ROOT",
	 "GCE_METADATA_IP",
	 "REPRIEVE_AZURE_METADATA_ENDPOINT",
	 "AZURE_POD_IDENTITY_AUTHORITY_HOST",
	 "REPRIEVE_ALIBABA_METADATA_ENDPOINT",
	 "REPRIEVE_TENCENT_METADATA_ENDPOINT",
	 "http_proxy",
	 "no_proxy"};

static int clear_environment(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		unsetenv(variables[i]);
	return 0;
}

/* --- the environment --- */

static void endpoints(void **state)
{
#define ADDRESS "http://169.254.169.254"
	static const struct {
		enum metadata_service service;
		/* "NAME=value" */
		const char *set[3];
		const char *url;
		bool is_named;
	} rows[] = {
		{METADATA_AWS, {0}, ADDRESS, false},
		{METADATA_GOOGLE, {0}, ADDRESS, false},
		{METADATA_AZURE, {0}, ADDRESS, false},
		{METADATA_AZURE_IDENTITY, {0}, ADDRESS, false},
		{METADATA_ALIBABA, {0}, "http://100.100.100.200", false},
		{METADATA_TENCENT, {0}, "http://metadata.tencentyun.com", false},
		{METADATA_AWS,
		 {"AWS_EC2_METADATA_SERVICE_ENDPOINT=http://a:1/"},
		 "http://a:1",
		 true},
		{METADATA_AWS, {"AWS_EC2_METADATA_SERVICE_ENDPOINT="}, ADDRESS, false},
		{METADATA_AWS,
		 {"AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE=ipv6"},
		 "http://[fd00:ec2::254]",
		 false},
		{METADATA_AWS,
		 {"AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE=IPv6"},
		 "http://[fd00:ec2::254]",
		 false},
		{METADATA_AWS, {"AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE=nonsense"}, ADDRESS, false},
		{METADATA_AWS,
		 {"AWS_EC2_METADATA_SERVICE_ENDPOINT=http://a",
		  "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE=IPv6"},
		 "http://a",
		 true},
		{METADATA_AZURE, {"AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE=IPv6"}, ADDRESS, false},
		{METADATA_GOOGLE, {"GCE_METADATA_HOST=g:2"}, "http://g:2", true},
		{METADATA_GOOGLE, {"GCE_METADATA_HOST=http://g/"}, "http://g", true},
		{METADATA_GOOGLE,
		 {"GCE_METADATA_IP=i", "GCE_METADATA_ROOT=r", "GCE_METADATA_HOST=h"},
		 "http://h",
		 true},
		{METADATA_GOOGLE,
		 {"GCE_METADATA_IP=i", "GCE_METADATA_ROOT=r", "GCE_METADATA_HOST="},
		 "http://r",
		 true},
		{METADATA_GOOGLE, {"GCE_METADATA_IP=i"}, "http://i", true},
		{METADATA_AZURE,
		 {"REPRIEVE_AZURE_METADATA_ENDPOINT=http://z:3//"},
		 "http://z:3",
		 true},
		/* Notices and tokens have a service each. */
		{METADATA_AZURE, {"AZURE_POD_IDENTITY_AUTHORITY_HOST=http://p"}, ADDRESS, false},
		{METADATA_AZURE_IDENTITY,
		 {"AZURE_POD_IDENTITY_AUTHORITY_HOST=http://p/"},
		 "http://p",
		 true},
		{METADATA_AZURE_IDENTITY,
		 {"REPRIEVE_AZURE_METADATA_ENDPOINT=http://z"},
		 ADDRESS,
		 false},
		{METADATA_ALIBABA,
		 {"REPRIEVE_ALIBABA_METADATA_ENDPOINT=http://l"},
		 "http://l",
		 true},
		{METADATA_TENCENT, {"REPRIEVE_TENCENT_METADATA_ENDPOINT=t"}, "http://t", true},
	};
#undef ADDRESS

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct metadata_endpoint endpoint;

		clear_environment(state);
		for (size_t j = 0; j < 3 && rows[i].set[j]; j++) {
			char name[80];
			const char *equals = strchr(rows[i].set[j], '=');

			snprintf(name, sizeof(name), "%.*s", (int)(equals - rows[i].set[j]),
				 rows[i].set[j]);
			setenv(name, equals + 1, 1);
		}
		instance_metadata_endpoint(rows[i].service, &endpoint);
		if (!text_equal(endpoint.url, rows[i].url) || endpoint.is_named != rows[i].is_named)
			fail_msg("row %zu: %s", i, endpoint.url);
	}
}

static void aws_settings(void **state)
{
	struct metadata_aws_settings settings;

	(void)state;
	instance_metadata_aws_settings(&settings);
	assert_false(settings.is_disabled);
	assert_true(settings.allows_tokenless);
	assert_int_equal(settings.timeout_ms, 2000);
	setenv("AWS_EC2_METADATA_DISABLED", "TRUE", 1);
	setenv("AWS_EC2_METADATA_V1_DISABLED", "no", 1);
	setenv("AWS_METADATA_SERVICE_TIMEOUT", "5", 1);
	instance_metadata_aws_settings(&settings);
	assert_true(settings.is_disabled);
	assert_true(settings.allows_tokenless);
	assert_int_equal(settings.timeout_ms, 5000);
	setenv("AWS_EC2_METADATA_V1_DISABLED", "True", 1);
	setenv("AWS_METADATA_SERVICE_TIMEOUT", "0.01", 1);
	instance_metadata_aws_settings(&settings);
	assert_false(settings.allows_tokenless);
	assert_int_equal(settings.timeout_ms, 100);
	setenv("AWS_METADATA_SERVICE_TIMEOUT", "forever", 1);
	instance_metadata_aws_settings(&settings);
	assert_int_equal(settings.timeout_ms, 2000);
}

static void tokens(void **state)
{
	static const struct {
		const char *body, *token; /* NULL: none */
	} rows[] = {
		{"AQAEAFdy9S1uOs56oz==", "AQAEAFdy9S1uOs56oz=="},
		{" AQAEAFdy9S1uOs56oz==\r\n", "AQAEAFdy9S1uOs56oz=="},
		{"", NULL},
		{" \n", NULL},
		{"<html>", NULL},
		{"{\"token\": 1}", NULL},
		{"two words", NULL},
		{"a\r\nX-Evil: 1", NULL},
		{"t\xc3\xb6ken", NULL},
	};
	char token[METADATA_TOKEN_MOST], many[METADATA_TOKEN_MOST + 1];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool good = instance_metadata_read_token(rows[i].body, strlen(rows[i].body), token);

		if (good != (rows[i].token != NULL) || (good && !text_equal(token, rows[i].token)))
			fail_msg("row %zu", i);
	}
	memset(many, 'x', sizeof(many));
	assert_false(instance_metadata_read_token(many, METADATA_TOKEN_MOST, token));
	assert_true(instance_metadata_read_token(many, METADATA_TOKEN_MOST - 1, token));
	assert_false(instance_metadata_read_token(NULL, 0, token));
}

/* --- the client --- */

static struct {
	struct httpd *httpd;
	char url[64];
	atomic_int requests, tokens;
	/* The status of a request for a token, and what its header says of its life. */
	atomic_int token_status;
	_Atomic(const char *) ttl;
	/* Which token is good; 0: none is needed. */
	atomic_int good;
	/* What the next requests are answered with; 0: what they ask for. */
	atomic_int fault, faults;
} world;

static void send_token(struct httpd_reply *reply)
{
	char text[32];

	snprintf(text, sizeof(text), "token-%d", atomic_fetch_add(&world.tokens, 1) + 1);
	httpd_reply_text(reply, world.token_status, text);
	if (world.ttl)
		httpd_reply_header(reply, INSTANCE_METADATA_TTL, "%s", world.ttl);
}

static bool has_good_token(const struct httpd_request *request)
{
	const char *aws = httpd_request_header(request, "X-aws-ec2-metadata-token");
	const char *alibaba = httpd_request_header(request, "X-aliyun-ecs-metadata-token");
	char good[32];

	snprintf(good, sizeof(good), "token-%d", world.good);
	return world.good == 0 || text_equal(aws ? aws : alibaba ? alibaba : "", good);
}

static void handle(void *arg, const struct httpd_request *request, struct httpd_reply *reply)
{
	const char *flavor = httpd_request_header(request, "Metadata-Flavor");

	(void)arg;
	atomic_fetch_add(&world.requests, 1);
	if (world.faults > 0 && world.faults--)
		httpd_reply_text(reply, world.fault, "");
	else if (strcmp(request->path, "/latest/api/token") == 0 &&
		 strcmp(request->method, "PUT") == 0)
		send_token(reply);
	else if (!has_good_token(request))
		httpd_reply_text(reply, strcmp(request->path, "/403") == 0 ? 403 : 401, "");
	else
		httpd_reply_text(reply, 200, flavor ? flavor : "plain");
}

static int set_up(void **state)
{
	clear_environment(state);
	world.ttl = NULL;
	world.requests = world.tokens = world.good = world.faults = 0;
	world.token_status = 200;
	return 0;
}

static void open_client(struct instance_metadata *client, enum metadata_service service)
{
	assert_int_equal(instance_metadata_open(client, service, world.url, 2000, NULL), 0);
}

static void check_get(struct instance_metadata *client, const char *path, int status,
		      const char *body, int requests)
{
	struct err err = {0};

	world.requests = 0;
	if (instance_metadata_get(client, path, NULL, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(client->response.status, status);
	if (body)
		assert_memory_equal(client->response.body.data, body, strlen(body));
	assert_int_equal(world.requests, requests);
}

static void token_is_kept_and_renewed(void **state)
{
	auto_(instance_metadata_close) struct instance_metadata client;

	(void)state;
	open_client(&client, METADATA_AWS);
	assert_int_equal(instance_metadata_renew_token(&client, NULL, NULL), 0);
	world.good = 1;
	check_get(&client, "/x", 200, "plain", 1);
	assert_true(client.refresh_ms > clock_monotonic_ms() + 10000 * 1000);
	/* One that is refused is replaced for the same request. */
	world.good = 2;
	check_get(&client, "/x", 200, "plain", 3);
	/* At half-life, before it is refused. */
	world.ttl = "60";
	world.good = 3;
	client.refresh_ms = clock_monotonic_ms();
	check_get(&client, "/x", 200, "plain", 2);
	assert_in_range(client.refresh_ms - clock_monotonic_ms(), 20000, 30000);
	/* An old one stays where no new one comes. */
	world.token_status = 503;
	client.refresh_ms = clock_monotonic_ms();
	check_get(&client, "/x", 200, "plain", 2);
	check_get(&client, "/x", 200, "plain", 1);
}

static void tokens_have_a_life(void **state)
{
	static const struct {
		const char *ttl;
		int64_t half_ms;
	} rows[] = {
		{"60", 30 * 1000},
		{NULL, 10800 * 1000},
		{"x", 10800 * 1000},
		{"99999999", 10800 * 1000},
	};
	auto_(instance_metadata_close) struct instance_metadata client;

	(void)state;
	open_client(&client, METADATA_AWS);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		world.ttl = rows[i].ttl;
		assert_int_equal(instance_metadata_renew_token(&client, NULL, NULL), 0);
		assert_int_equal(client.refresh_ms - client.response.arrived_ms, rows[i].half_ms);
	}
}

static void tries(void **state)
{
	auto_(instance_metadata_close) struct instance_metadata client, absent;
	struct err err = {0};

	(void)state;
	open_client(&client, METADATA_GOOGLE);
	world.fault = 503;
	world.faults = 1;
	check_get(&client, "/x", 503, NULL, 1);
	client.tries = 3;
	world.faults = 2;
	check_get(&client, "/x", 200, "Google", 3);
	world.fault = 429;
	world.faults = 3;
	assert_int_equal(instance_metadata_get(&client, "/x", NULL, &err), -1);
	assert_int_equal(err.kind, ERR_RETRY);
	assert_non_null(strstr(err.text, "429"));
	world.fault = 404;
	world.faults = 1;
	check_get(&client, "/x", 404, NULL, 1);
	assert_int_equal(instance_metadata_open(&absent, METADATA_GOOGLE, "http://127.0.0.1:9",
						1000, NULL),
			 0);
	assert_int_equal(instance_metadata_get(&absent, "/x", NULL, &err), -1);
	assert_int_equal(err.kind, ERR_RETRY);
	assert_int_equal(absent.response.status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(endpoints),
		cmocka_unit_test_setup(aws_settings, set_up),
		cmocka_unit_test(tokens),
		cmocka_unit_test_setup(token_is_kept_and_renewed, set_up),
		cmocka_unit_test_setup(tokens_have_a_life, set_up),
		cmocka_unit_test_setup(tries, set_up),
	};
	int failed;

	if (httpd_start(&(struct httpd_options){.handler = handle}, &world.httpd, NULL) < 0)
		return 1;
	snprintf(world.url, sizeof(world.url), "http://127.0.0.1:%u", httpd_port(world.httpd));
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	httpd_stop(world.httpd);
	return failed;
}
