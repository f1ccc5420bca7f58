/* The chain of credentials against a server that plays the container's endpoint, the instance's
 * metadata and STS. */
#include "storage/aws/aws_credentials.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/httpd.h"
#include "err_kind.h"

#include "unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- what the server plays --- */

static struct {
	struct httpd *httpd;
	atomic_int fetched; /* sets of credentials handed out */
	atomic_bool down;
	atomic_bool old; /* knows nothing of tokens */
	int64_t life_ms;
	char last_body[2048]; /* of the last form sent to STS */
	char last_authorization[512];
} world;

static char directory[] = "/tmp/test-aws-XXXXXX";

static void send_json(struct httpd_reply *reply, const char *kind)
{
	char text[512], expires[32];
	int number = atomic_fetch_add(&world.fetched, 1) + 1;

	clock_format(clock_wall_ms() + world.life_ms, expires, sizeof(expires));
	snprintf(text, sizeof(text),
		 "{\"Code\":\"Success\",\"AccessKeyId\":\"%s%d\",\"SecretAccessKey\":\"hush\","
		 "\"Token\":\"t\","
		 "\"Expiration\":\"%s\"}",
		 kind, number, expires);
	httpd_reply_text(reply, 200, text);
}

static void send_sts(const struct httpd_request *request, struct httpd_reply *reply)
{
	const char *authorization = httpd_request_header(request, "Authorization");
	char text[1024], expires[32];
	int number = atomic_fetch_add(&world.fetched, 1) + 1;

	snprintf(world.last_body, sizeof(world.last_body), "%.*s", (int)request->body_size,
		 (const char *)request->body);
	text_set(world.last_authorization, sizeof(world.last_authorization),
		 authorization ? authorization : "");
	clock_format(clock_wall_ms() + world.life_ms, expires, sizeof(expires));
	snprintf(text, sizeof(text),
		 "<R><AssumeRoleResult><Credentials><AccessKeyId>STS%d</"
		 "AccessKeyId><SecretAccessKey>hush"
		 "</SecretAccessKey><SessionToken>t</SessionToken><Expiration>%s</Expiration></"
		 "Credentials>"
		 "</AssumeRoleResult></R>",
		 number, expires);
	httpd_reply_text(reply, 200, text);
}

static bool header_is(const struct httpd_request *request, const char *name, const char *value)
{
	const char *is = httpd_request_header(request, name);

	return is && strcmp(is, value) == 0;
}

static void answer(void *arg, const struct httpd_request *request, struct httpd_reply *reply)
{
	(void)arg;
	if (atomic_load(&world.down))
		httpd_reply_text(reply, 503, "down");
	else if (strcmp(request->path, "/container") == 0 &&
		 header_is(request, "Authorization", "from-the-file"))
		send_json(reply, "BOX");
	else if (strcmp(request->path, "/latest/api/token") == 0 && atomic_load(&world.old))
		httpd_reply_text(reply, 404, "");
	else if (strcmp(request->path, "/latest/api/token") == 0 &&
		 strcmp(request->method, "PUT") == 0)
		httpd_reply_text(reply, 200, "imds-token");
	else if (!atomic_load(&world.old) &&
		 !header_is(request, "X-aws-ec2-metadata-token", "imds-token") &&
		 text_starts(request->path, "/latest/"))
		httpd_reply_text(reply, 401, "");
	else if (strcmp(request->path, "/latest/meta-data/iam/security-credentials/") == 0)
		httpd_reply_text(reply, 200, "my-role\n");
	else if (strcmp(request->path, "/latest/meta-data/iam/security-credentials/my-role") == 0)
		send_json(reply, "VM");
	else if (strcmp(request->path, "/") == 0 && strcmp(request->method, "POST") == 0)
		send_sts(request, reply);
	else
		httpd_reply_text(reply, 404, "");
}

/* --- one environment after the other --- */

static char *place(const char *name)
{
	return text_format("%s/%s", directory, name);
}

static void write_file(const char *name, const char *text)
{
	auto_free char *path = place(name);
	struct err err = {0};

	if (file_write(path, text, strlen(text), &err) < 0)
		fail_msg("%s", err.text);
}

static void set_url(const char *name, const char *path)
{
	auto_free char *url = text_format("http://127.0.0.1:%u%s", httpd_port(world.httpd), path);

	setenv(name, url, 1);
}

static int set_up(void **state)
{
	static const char *const names[] =
		{"AWS_ACCESS_KEY_ID",
		 "AWS_SECRET_ACCESS_KEY",
		 "AWS_SESSION_TOKEN",
		 "AWS_SECURITY_TOKEN",
		 "AWS_PROFILE",
		 "AWS_REGION",
		 "AWS_DEFAULT_REGION",
		 "AWS_ENDPOINT_URL",
		 "AWS_ENDPOINT_URL_S3",
		 "AWS_WEB_IDENTITY_TOKEN_FILE",
		 "AWS_ROLE_ARN",
		 "AWS_ROLE_SESSION_NAME",
		 "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
		 "AWS_CONTAINER_CREDENTIALS_FULL_URI",
		 "AWS_CONTAINER_AUTHORIZATION_TOKEN",
		 "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
		 "AWS_EC2_METADATA_DISABLED",
		 "AWS_EC2_METADATA_V1_DISABLED",
		 "AWS_METADATA_SERVICE_TIMEOUT",
		 "REPRIEVE_S3_HEADERS",
		 "AWS_REQUEST_PAYER"};
	auto_free char *config = place("config"), *credentials = place("credentials");

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unsetenv(names[i]);
	unlink(config);
	unlink(credentials);
	setenv("AWS_CONFIG_FILE", config, 1);
	setenv("AWS_SHARED_CREDENTIALS_FILE", credentials, 1);
	set_url("AWS_ENDPOINT_URL_STS", "");
	set_url("AWS_EC2_METADATA_SERVICE_ENDPOINT", "/");
	world.life_ms = 3600 * 1000;
	atomic_store(&world.fetched, 0);
	atomic_store(&world.down, false);
	atomic_store(&world.old, false);
	return 0;
}

struct fixture {
	struct aws_settings settings;
	struct aws_chain *chain;
};

static void fixture_open(struct fixture *fixture)
{
	struct err err = {0};

	if (aws_settings_load(&fixture->settings, &err) < 0)
		fail_msg("%s", err.text);
	fixture->chain = aws_chain_new(&fixture->settings);
}

static void fixture_release(struct fixture *fixture)
{
	aws_chain_free(fixture->chain);
	aws_settings_release(&fixture->settings);
}
AUTO(struct fixture, fixture_release);

static struct credential *get(const struct fixture *fixture, const struct credential *refused,
			      struct cancel *cancel, struct err *err)
{
	struct credential_cache *cache = aws_chain_credentials(fixture->chain);

	if (refused && credential_cache_invalidate(cache, refused, cancel, err) < 0)
		return NULL;
	return credential_cache_get(cache, cancel, err);
}

static void check(struct fixture *fixture, const struct credential *refused, const char *access_key)
{
	struct err err = {0};
	auto_(credential_release) struct credential *got = get(fixture, refused, NULL, &err);

	if (!got)
		fail_msg("%s", err.text);
	assert_string_equal(got->access_key, access_key);
}

static void check_source(const char *access_key, const char *source)
{
	auto_(fixture_release) struct fixture fixture;
	char told[256];

	fixture_open(&fixture);
	assert_string_equal(aws_chain_source(fixture.chain, told, sizeof(told)), "none yet");
	check(&fixture, NULL, access_key);
	assert_string_equal(aws_chain_source(fixture.chain, told, sizeof(told)), source);
}

static void check_fails(enum err_kind kind, const char *words)
{
	auto_(fixture_release) struct fixture fixture;
	struct err err = {0};

	fixture_open(&fixture);
	assert_null(get(&fixture, NULL, NULL, &err));
	if (err.kind != kind || !strstr(err.text, words))
		fail_msg("%s: %s", err_kind_name(err.kind), err.text);
	assert_null(strstr(err.text, "hush"));
}

/* --- the sources --- */

static void test_environment(void **state)
{
	(void)state;
	setenv("AWS_ACCESS_KEY_ID", "ENV", 1);
	check_fails(ERR_INVALID, "AWS_SECRET_ACCESS_KEY");
	setenv("AWS_SECRET_ACCESS_KEY", "hush", 1);
	check_source("ENV", "environment (AWS_ACCESS_KEY_ID)");
}

static void test_profile(void **state)
{
	(void)state;
	write_file("credentials", "[default]\naws_access_key_id=FILE\naws_secret_access_key=hush\n"
				  "[half]\naws_access_key_id=HALF\n");
	check_source("FILE", "profile default");
	setenv("AWS_PROFILE", "nobody", 1);
	check_fails(ERR_INVALID, "no profile \"nobody\"");
	setenv("AWS_PROFILE", "half", 1);
	check_fails(ERR_INVALID, "aws_secret_access_key is missing");
}

static void test_roles(void **state)
{
	(void)state;
	write_file("credentials", "[base]\naws_access_key_id=BASE\naws_secret_access_key=hush\n");
	write_file("config",
		   "[profile mid]\nrole_arn=arn:mid\nsource_profile=base\n"
		   "[profile top]\nrole_arn=arn:top\nsource_profile=mid\nexternal_id=e/x\n"
		   "role_session_name=me\nduration_seconds=1800\n"
		   "[profile loop]\nrole_arn=arn:l\nsource_profile=loop2\n"
		   "[profile loop2]\nrole_arn=arn:l\nsource_profile=loop\n"
		   "[profile lone]\nrole_arn=arn:vm\n"
		   "[profile sso]\nsso_account_id=1\n");
	setenv("AWS_PROFILE", "top", 1);
	check_source("STS2", "profile top (role arn:top)");
	assert_non_null(strstr(world.last_body, "Action=AssumeRole&"));
	assert_non_null(strstr(world.last_body, "RoleArn=arn%3Atop"));
	assert_non_null(strstr(world.last_body, "ExternalId=e%2Fx"));
	assert_non_null(strstr(world.last_body, "RoleSessionName=me"));
	assert_non_null(strstr(world.last_body, "DurationSeconds=1800"));
	assert_non_null(strstr(world.last_authorization, "Credential=STS1/"));
	assert_non_null(strstr(world.last_authorization, "/us-east-1/sts/aws4_request"));
	assert_non_null(strstr(world.last_authorization, "x-amz-security-token"));
	setenv("AWS_PROFILE", "loop", 1);
	check_fails(ERR_INVALID, "circles");
	setenv("AWS_PROFILE", "lone", 1);
	check_fails(ERR_INVALID, "source_profile");
	setenv("AWS_PROFILE", "sso", 1);
	check_fails(ERR_INVALID, "export-credentials");
}

static void test_process(void **state)
{
	(void)state;
	write_file("config", "[default]\ncredential_process = printf "
			     "'{\"Version\":1,\"AccessKeyId\":\"PROC\",%s}' "
			     "'\"SecretAccessKey\":\"hush\"'\n"
			     "[profile bad]\ncredential_process = echo hush; exit 3\n"
			     "[profile garbage]\ncredential_process = echo hush\n");
	check_source("PROC", "profile default");
	setenv("AWS_PROFILE", "bad", 1);
	check_fails(ERR_DENIED, "exit code 3");
	setenv("AWS_PROFILE", "garbage", 1);
	check_fails(ERR_FAILED, "no JSON object");
}

static void test_process_is_stopped(void **state)
{
	auto_(fixture_release) struct fixture fixture;
	struct cancel cancel;
	struct err err = {0};

	(void)state;
	write_file("config", "[default]\ncredential_process = sleep 600\n");
	fixture_open(&fixture);
	assert_int_equal(cancel_init(&cancel, &err), 0);
	cancel_set_deadline(&cancel, clock_monotonic_ms() + 100);
	assert_null(get(&fixture, NULL, &cancel, &err));
	assert_int_equal(err.kind, ERR_CANCELLED);
	cancel_release(&cancel);
}

static void test_web_identity(void **state)
{
	auto_free char *path = place("token");
	auto_(fixture_release) struct fixture fixture;

	(void)state;
	write_file("token", "first/token\r\n");
	setenv("AWS_WEB_IDENTITY_TOKEN_FILE", path, 1);
	setenv("AWS_ROLE_ARN", "arn:web", 1);
	check_source("STS1", "web identity (role arn:web)");
	assert_non_null(strstr(world.last_body, "WebIdentityToken=first%2Ftoken"));
	assert_null(strstr(world.last_body, "%0D"));
	assert_string_equal(world.last_authorization, "");
	/* It is read anew for the next ones. */
	write_file("token", "second");
	fixture_open(&fixture);
	check(&fixture, NULL, "STS2");
	assert_non_null(strstr(world.last_body, "WebIdentityToken=second"));
}

static void test_container(void **state)
{
	auto_free char *path = place("token");

	(void)state;
	set_url("AWS_CONTAINER_CREDENTIALS_FULL_URI", "/container");
	setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "not this one", 1);
	setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", path, 1);
	write_file("token", "from-the-file");
	check_source("BOX1", "container");
	write_file("token", "two\r\nlines: x");
	check_fails(ERR_INVALID, "line");
	setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://example.com/x", 1);
	check_fails(ERR_INVALID, "AWS_CONTAINER_CREDENTIALS_FULL_URI");
}

static void test_instance(void **state)
{
	(void)state;
	check_source("VM1", "instance (role my-role)");
	atomic_store(&world.down, true);
	check_fails(ERR_RETRY, "503");
	setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
	check_fails(ERR_DENIED, "there are none");
}

/* --- keeping and renewing --- */

static void test_kept(void **state)
{
	auto_(fixture_release) struct fixture fixture;

	(void)state;
	fixture_open(&fixture);
	check(&fixture, NULL, "VM1");
	check(&fixture, NULL, "VM1");
	assert_int_equal(atomic_load(&world.fetched), 1);
}

static void test_refused(void **state)
{
	auto_(fixture_release) struct fixture fixture;
	auto_(credential_release) struct credential *first = NULL, *second = NULL;
	struct err err = {0};

	(void)state;
	fixture_open(&fixture);
	first = get(&fixture, NULL, NULL, &err);
	check(&fixture, first, "VM2");
	/* Another thread that was refused with the same old ones finds new ones there. */
	check(&fixture, first, "VM2");
	assert_int_equal(atomic_load(&world.fetched), 2);
	/* The source is down: a refusal cannot be helped, but what there is stays. */
	atomic_store(&world.down, true);
	second = get(&fixture, NULL, NULL, &err);
	assert_null(get(&fixture, second, NULL, &err));
	assert_int_equal(err.kind, ERR_RETRY);
	check(&fixture, NULL, "VM2");
}

/* A file that was changed meanwhile, by `aws sso login` or a rotation. */
static void test_file_is_read_again(void **state)
{
	auto_(fixture_release) struct fixture fixture;
	auto_(credential_release) struct credential *first = NULL;
	struct err err = {0};

	(void)state;
	write_file("credentials", "[default]\naws_access_key_id=OLD\naws_secret_access_key=hush\n");
	fixture_open(&fixture);
	first = get(&fixture, NULL, NULL, &err);
	write_file("credentials", "[default]\naws_access_key_id=NEW\naws_secret_access_key=hush\n");
	check(&fixture, NULL, "OLD");
	check(&fixture, first, "NEW");
}

static void test_outage(void **state)
{
	auto_(fixture_release) struct fixture fixture;

	(void)state;
	/* Already past its time when it comes: it would be fetched again at once but for the rest
	 * between fetches. */
	world.life_ms = -1000;
	fixture_open(&fixture);
	check(&fixture, NULL, "VM1");
	atomic_store(&world.down, true);
	check(&fixture, NULL, "VM1");
	assert_int_equal(atomic_load(&world.fetched), 1);
}

static void *get_many(void *arg)
{
	for (int i = 0; i < 50; i++)
		check(arg, NULL, "VM1");
	return NULL;
}

static void test_threads(void **state)
{
	auto_(fixture_release) struct fixture fixture;
	pthread_t threads[8];

	(void)state;
	fixture_open(&fixture);
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, get_many, &fixture), 0);
	for (size_t i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(atomic_load(&world.fetched), 1);
}

/* A machine of which the environment says that it may not be asked without a token. */
static void test_without_a_token(void **state)
{
	(void)state;
	atomic_store(&world.old, true);
	check_source("VM1", "instance (role my-role)");
	setenv("AWS_EC2_METADATA_V1_DISABLED", "true", 1);
	check_fails(ERR_DENIED, "404 to a request for a token");
	check_fails(ERR_DENIED, "AWS_PROFILE");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_environment, set_up),
		cmocka_unit_test_setup(test_profile, set_up),
		cmocka_unit_test_setup(test_roles, set_up),
		cmocka_unit_test_setup(test_process, set_up),
		cmocka_unit_test_setup(test_process_is_stopped, set_up),
		cmocka_unit_test_setup(test_web_identity, set_up),
		cmocka_unit_test_setup(test_container, set_up),
		cmocka_unit_test_setup(test_instance, set_up),
		cmocka_unit_test_setup(test_kept, set_up),
		cmocka_unit_test_setup(test_refused, set_up),
		cmocka_unit_test_setup(test_file_is_read_again, set_up),
		cmocka_unit_test_setup(test_outage, set_up),
		cmocka_unit_test_setup(test_threads, set_up),
		cmocka_unit_test_setup(test_without_a_token, set_up),
	};
	struct err err = {0};
	int failed;

	if (!mkdtemp(directory) ||
	    httpd_start(&(struct httpd_options){.handler = answer}, &world.httpd, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	httpd_stop(world.httpd);
	file_remove_tree(directory, &err);
	return failed;
}
