/* The watchers against the mocks, over real sockets: what is told, and what is not. */
#include "unit.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "cloud/cloud.h"
#include "cloud/mock/mock.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Only a test that fails waits for so long. */
enum {
	PATIENCE_SECONDS = 30,
	MOST = 16
};

/* What a watch told, and a way to wait for it. */
struct told {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct notice notices[MOST];
	size_t notice_count;
	struct source_state states[MOST];
	size_t state_count;
};

static void take_notice(void *arg, const struct notice *notice)
{
	struct told *told = arg;

	pthread_mutex_lock(&told->mutex);
	if (told->notice_count < MOST)
		told->notices[told->notice_count++] = *notice;
	pthread_cond_broadcast(&told->changed);
	pthread_mutex_unlock(&told->mutex);
}

static void take_health(void *arg, const struct source_state *state)
{
	struct told *told = arg;

	pthread_mutex_lock(&told->mutex);
	if (told->state_count < MOST)
		told->states[told->state_count++] = *state;
	pthread_cond_broadcast(&told->changed);
	pthread_mutex_unlock(&told->mutex);
}

static bool wait_changed(struct told *told, const struct timespec *limit)
{
	return pthread_cond_timedwait(&told->changed, &told->mutex, limit) == 0;
}

static struct timespec patience(void)
{
	struct timespec limit;

	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += PATIENCE_SECONDS;
	return limit;
}

/* The index-th notice from `source`; fails the test when it does not come. */
static struct notice wait_notice(struct told *told, const char *source, size_t index)
{
	struct timespec limit = patience();
	struct notice found = {0};
	bool waiting = true;

	pthread_mutex_lock(&told->mutex);
	while (waiting && found.kind == NOTICE_NONE) {
		size_t seen = 0;

		for (size_t i = 0; i < told->notice_count; i++)
			if (text_equal(told->notices[i].source, source) && seen++ == index)
				found = told->notices[i];
		if (found.kind == NOTICE_NONE)
			waiting = wait_changed(told, &limit);
	}
	pthread_mutex_unlock(&told->mutex);
	assert_int_not_equal(found.kind, NOTICE_NONE);
	return found;
}

static struct source_state wait_health(struct told *told, const char *name,
				       enum source_health health)
{
	struct timespec limit = patience();
	struct source_state found = {0};
	bool waiting = true, is_found = false;

	pthread_mutex_lock(&told->mutex);
	while (waiting && !is_found) {
		for (size_t i = 0; i < told->state_count && !is_found; i++) {
			found = told->states[i];
			is_found = text_equal(found.name, name) && found.health == health;
		}
		if (!is_found)
			waiting = wait_changed(told, &limit);
	}
	pthread_mutex_unlock(&told->mutex);
	assert_true(is_found);
	return found;
}

static size_t count_notices(struct told *told)
{
	size_t count;

	pthread_mutex_lock(&told->mutex);
	count = told->notice_count;
	pthread_mutex_unlock(&told->mutex);
	return count;
}

struct fixture {
	struct told told;
	struct mock *mock;
	struct cloud_watch *watch;
};

static void start_cloud(struct fixture *fixture, const struct mock_options *options)
{
	const char *name, *value;

	assert_int_equal(mock_start(options, &fixture->mock, NULL), 0);
	mock_environment(fixture->mock, &name, &value);
	setenv(name, value, 1);
}

static void start_watch(struct fixture *fixture, const char *sources)
{
	const struct cloud_options options = {
		.sources = sources,
		.notice = take_notice,
		.health = take_health,
		.arg = &fixture->told,
	};

	assert_int_equal(cloud_watch_start(&options, &fixture->watch, NULL), 0);
}

static struct source_state state_of(struct fixture *fixture, const char *name)
{
	struct source_state states[MOST];
	size_t count = cloud_watch_states(fixture->watch, states, MOST);

	for (size_t i = 0; i < count; i++)
		if (text_equal(states[i].name, name))
			return states[i];
	fail_msg("no source named %s", name);
	return states[0];
}

/* Until the source has polled that often: what would have been told by then has been. */
static void wait_polls(struct fixture *fixture, const char *name, uint64_t polls)
{
	int64_t until = clock_monotonic_ms() + PATIENCE_SECONDS * 1000;

	while (state_of(fixture, name).polls < polls) {
		assert_true(clock_left_ms(until) > 0);
		usleep(10000);
	}
}

static int set_up(void **state)
{
	struct fixture *fixture = memory_new(sizeof(*fixture));

	unsetenv("AWS_EC2_METADATA_SERVICE_ENDPOINT");
	unsetenv("AWS_EC2_METADATA_DISABLED");
	unsetenv("GCE_METADATA_HOST");
	unsetenv("REPRIEVE_AZURE_METADATA_ENDPOINT");
	pthread_mutex_init(&fixture->told.mutex, NULL);
	pthread_cond_init(&fixture->told.changed, NULL);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	cloud_watch_stop(fixture->watch);
	mock_stop(fixture->mock);
	pthread_cond_destroy(&fixture->told.changed);
	pthread_mutex_destroy(&fixture->told.mutex);
	free(fixture);
	return 0;
}

/* The deadline told is within 2 s of the mock's own, which rounds to whole seconds. */
static void assert_deadline(struct fixture *fixture, const struct notice *notice)
{
	int64_t difference = notice->deadline_ms - mock_deadline_ms(fixture->mock);

	assert_in_range(difference + 2000, 0, 4000);
}

static void aws_spot_notice_is_told_once(void **state)
{
	struct fixture *fixture = *state;
	struct notice notice;

	start_cloud(fixture, &(struct mock_options){.cloud = MOCK_AWS});
	start_watch(fixture, "aws");
	wait_health(&fixture->told, "aws", SOURCE_ARMED);
	assert_int_equal(count_notices(&fixture->told), 0);
	assert_int_equal(mock_control(fixture->mock, "fire", NULL, NULL), 0);
	notice = wait_notice(&fixture->told, "aws", 0);
	assert_int_equal(notice.kind, NOTICE_STOP);
	assert_string_equal(notice.identity, "terminate");
	assert_deadline(fixture, &notice);
	wait_polls(fixture, "aws", state_of(fixture, "aws").polls + 2);
	assert_int_equal(count_notices(&fixture->told), 1);
}

static void aws_rebalance_is_advice(void **state)
{
	struct fixture *fixture = *state;
	struct notice notice;

	start_cloud(fixture, &(struct mock_options){.cloud = MOCK_AWS});
	assert_int_equal(mock_control(fixture->mock, "advice", NULL, NULL), 0);
	start_watch(fixture, "aws");
	notice = wait_notice(&fixture->told, "aws", 0);
	assert_int_equal(notice.kind, NOTICE_ADVICE);
	assert_string_equal(notice.identity, "rebalance");
}

static void aws_token_is_renewed_after_401(void **state)
{
	struct fixture *fixture = *state;

	start_cloud(fixture, &(struct mock_options){.cloud = MOCK_AWS});
	start_watch(fixture, "aws");
	wait_health(&fixture->told, "aws", SOURCE_ARMED);
	mock_control(fixture->mock, "expire", NULL, NULL);
	wait_polls(fixture, "aws", state_of(fixture, "aws").polls + 2);
	assert_int_equal(state_of(fixture, "aws").unknowns, 0);
	mock_control(fixture->mock, "fire", NULL, NULL);
	assert_int_equal(wait_notice(&fixture->told, "aws", 0).kind, NOTICE_STOP);
}

static void aws_hop_limit_is_told_apart(void **state)
{
	struct fixture *fixture = *state;

	start_cloud(fixture, &(struct mock_options){.cloud = MOCK_AWS});
	mock_control(fixture->mock, "fault", "{\"hang\": true, \"method\": \"PUT\"}", NULL);
	start_watch(fixture, "aws");
	assert_non_null(
		strstr(wait_health(&fixture->told, "aws", SOURCE_UNAVAILABLE).why, "hop limit"));
}

static void aws_turned_off_is_told_apart(void **state)
{
	struct fixture *fixture = *state;

	start_cloud(fixture, &(struct mock_options){.cloud = MOCK_AWS});
	mock_control(fixture->mock, "fault", "{\"status\": 403}", NULL);
	start_watch(fixture, "aws");
	assert_non_null(
		strstr(wait_health(&fixture->told, "aws", SOURCE_UNAVAILABLE).why, "turned off"));
}

static void aws_disabled_by_environment(void **state)
{
	struct fixture *fixture = *state;

	setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
	start_watch(fixture, "aws");
	assert_non_null(strstr(wait_health(&fixture->told, "aws", SOURCE_UNAVAILABLE).why,
			       "AWS_EC2_METADATA_DISABLED"));
}

static void gcp_preemption_ends_the_hanging_get(void **state)
{
	struct fixture *fixture = *state;
	struct notice notice;

	start_cloud(fixture, &(struct mock_options){.cloud = MOCK_GCP});
	start_watch(fixture, "gcp");
	wait_health(&fixture->told, "gcp", SOURCE_ARMED);
	mock_control(fixture->mock, "fire", NULL, NULL);
	notice = wait_notice(&fixture->told, "gcp", 0);
	assert_int_equal(notice.kind, NOTICE_STOP);
	assert_deadline(fixture, &notice);
}

static void gcp_already_preempted_at_the_start(void **state)
{
	struct fixture *fixture = *state;

	start_cloud(fixture, &(struct mock_options){.cloud = MOCK_GCP});
	mock_control(fixture->mock, "fire", NULL, NULL);
	start_watch(fixture, "gcp");
	assert_int_equal(wait_notice(&fixture->told, "gcp", 0).kind, NOTICE_STOP);
}

/* The server is away just when it matters: the answer to the plain GET after it must count. */
static void gcp_503_at_the_flip(void **state)
{
	struct fixture *fixture = *state;

	start_cloud(fixture, &(struct mock_options){.cloud = MOCK_GCP});
	mock_control(fixture->mock, "fault",
		     "{\"status\": 503, \"count\": 3, \"path\": "
		     "\"/computeMetadata/v1/instance/preempted\"}",
		     NULL);
	mock_control(fixture->mock, "fire", NULL, NULL);
	start_watch(fixture, "gcp");
	assert_int_equal(wait_notice(&fixture->told, "gcp", 0).kind, NOTICE_STOP);
	assert_int_equal(state_of(fixture, "gcp").unknowns, 3);
}

static void gcp_maintenance_is_advice(void **state)
{
	struct fixture *fixture = *state;

	start_cloud(fixture, &(struct mock_options){.cloud = MOCK_GCP});
	start_watch(fixture, "gcp");
	wait_health(&fixture->told, "gcp", SOURCE_ARMED);
	mock_control(fixture->mock, "advice", NULL, NULL);
	assert_int_equal(wait_notice(&fixture->told, "gcp", 0).kind, NOTICE_ADVICE);
}

static void azure_preempt_and_its_cancellation(void **state)
{
	struct fixture *fixture = *state;
	struct notice first, second;

	start_cloud(fixture,
		    &(struct mock_options){.cloud = MOCK_AZURE, .vm_name = "Train-VMSS_4"});
	start_watch(fixture, "azure");
	wait_health(&fixture->told, "azure", SOURCE_ARMED);
	mock_control(fixture->mock, "fire", NULL, NULL);
	first = wait_notice(&fixture->told, "azure", 0);
	assert_int_equal(first.kind, NOTICE_STOP);
	assert_deadline(fixture, &first);
	assert_int_equal(mock_control(fixture->mock, "cancel", NULL, NULL), 0);
	second = wait_notice(&fixture->told, "azure", 1);
	assert_int_equal(second.kind, NOTICE_CANCELLED);
	assert_string_equal(second.identity, first.identity);
}

static void azure_other_machines_and_freezes_are_no_notices(void **state)
{
	struct fixture *fixture = *state;

	start_cloud(fixture, &(struct mock_options){.cloud = MOCK_AZURE});
	mock_control(fixture->mock, "foreign", NULL, NULL);
	mock_control(fixture->mock, "advice", NULL, NULL);
	start_watch(fixture, "azure");
	wait_health(&fixture->told, "azure", SOURCE_ARMED);
	wait_polls(fixture, "azure", 2);
	assert_int_equal(count_notices(&fixture->told), 0);
	mock_control(fixture->mock, "fire", NULL, NULL);
	assert_int_equal(wait_notice(&fixture->told, "azure", 0).kind, NOTICE_STOP);
}

static void azure_throttling_is_survived(void **state)
{
	struct fixture *fixture = *state;

	start_cloud(fixture, &(struct mock_options){.cloud = MOCK_AZURE});
	mock_control(fixture->mock, "fault",
		     "{\"status\": 429, \"count\": 1, \"path\": \"/metadata/scheduledevents\"}",
		     NULL);
	mock_control(fixture->mock, "fire", NULL, NULL);
	start_watch(fixture, "azure");
	assert_int_equal(wait_notice(&fixture->told, "azure", 0).kind, NOTICE_STOP);
	assert_int_equal(state_of(fixture, "azure").unknowns, 1);
}

/* Listens, and never accepts: the kernel answers the connection, and nobody the request. */
static int open_silence(char url[64])
{
	struct sockaddr_in name = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t size = sizeof(name);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	assert_int_equal(listen(fd, 16), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&name, &size), 0);
	snprintf(url, 64, "http://127.0.0.1:%u", ntohs(name.sin_port));
	return fd;
}

/* Azure's first call would wait for 130 s: the other source delivers, and the end
 * does not wait for it. */
static void one_that_hangs_delays_nothing(void **state)
{
	struct fixture *fixture = *state;
	char url[64];
	int silence = open_silence(url);

	start_cloud(fixture, &(struct mock_options){.cloud = MOCK_GCP});
	setenv("REPRIEVE_AZURE_METADATA_ENDPOINT", url, 1);
	start_watch(fixture, "azure,gcp");
	wait_health(&fixture->told, "gcp", SOURCE_ARMED);
	mock_control(fixture->mock, "fire", NULL, NULL);
	assert_int_equal(wait_notice(&fixture->told, "gcp", 0).kind, NOTICE_STOP);
	assert_int_equal(state_of(fixture, "azure").health, SOURCE_STARTING);
	cloud_watch_stop(fixture->watch);
	fixture->watch = NULL;
	close(silence);
}

/* A login page, another cloud's server, half a body, resets: none is a notice, none is "armed". */
static void what_is_not_understood_is_no_notice(void **state)
{
	static const char *const faults[] = {
		"{\"html\": true}",
		"{\"reset\": true}",
		"{\"status\": 500}",
		"{\"path\": \"/latest/meta-data\", \"truncate\": true}",
	};

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		struct fixture *fixture = *state;
		struct source_state seen;

		start_cloud(fixture, &(struct mock_options){.cloud = MOCK_AWS});
		mock_control(fixture->mock, "fire", NULL, NULL);
		mock_control(fixture->mock, "advice", NULL, NULL);
		mock_control(fixture->mock, "fault", faults[i], NULL);
		start_watch(fixture, "aws");
		wait_polls(fixture, "aws", 3);
		seen = state_of(fixture, "aws");
		assert_int_equal(seen.unknowns, seen.polls);
		assert_int_equal(count_notices(&fixture->told), 0);
		/* And when the fault ends, the notice is seen: it was there all the time. */
		mock_control(fixture->mock, "fault", "{}", NULL);
		wait_notice(&fixture->told, "aws", 0);
		tear_down(state);
		set_up(state);
	}
}

static void the_wrong_cloud_is_unknown(void **state)
{
	static const struct {
		const char *source, *variable;
		enum mock_cloud cloud;
	} rows[] = {
		{"aws", "AWS_EC2_METADATA_SERVICE_ENDPOINT", MOCK_GCP},
		{"aws", "AWS_EC2_METADATA_SERVICE_ENDPOINT", MOCK_AZURE},
		{"gcp", "GCE_METADATA_HOST", MOCK_AWS},
		{"gcp", "GCE_METADATA_HOST", MOCK_AZURE},
		{"azure", "REPRIEVE_AZURE_METADATA_ENDPOINT", MOCK_AWS},
		{"azure", "REPRIEVE_AZURE_METADATA_ENDPOINT", MOCK_GCP},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture *fixture = *state;

		start_cloud(fixture, &(struct mock_options){.cloud = rows[i].cloud});
		mock_control(fixture->mock, "fire", NULL, NULL);
		setenv(rows[i].variable, mock_url(fixture->mock), 1);
		start_watch(fixture, rows[i].source);
		wait_polls(fixture, rows[i].source, 2);
		assert_int_equal(state_of(fixture, rows[i].source).unknowns,
				 state_of(fixture, rows[i].source).polls);
		assert_int_not_equal(state_of(fixture, rows[i].source).health, SOURCE_ARMED);
		assert_int_equal(count_notices(&fixture->told), 0);
		tear_down(state);
		set_up(state);
	}
}

static void gke_server_is_unavailable(void **state)
{
	struct fixture *fixture = *state;

	/* Under a path that it does not serve, every key is missing. */
	start_cloud(fixture, &(struct mock_options){.cloud = MOCK_GCP});
	auto_free char *host = text_format("%s/elsewhere", mock_url(fixture->mock));

	setenv("GCE_METADATA_HOST", host, 1);
	start_watch(fixture, "gcp");
	assert_non_null(
		strstr(wait_health(&fixture->told, "gcp", SOURCE_UNAVAILABLE).why, "hostNetwork"));
}

static void a_file_that_appears_and_goes(void **state)
{
	struct fixture *fixture = *state;
	char directory[] = "/tmp/reprieve-watch-XXXXXX";
	struct notice notice;

	assert_non_null(mkdtemp(directory));
	auto_free char *path = text_format("%s/notice", directory);
	auto_free char *source = text_format("file:%s", path);

	start_watch(fixture, source);
	wait_health(&fixture->told, "file", SOURCE_ARMED);
	assert_int_equal(file_write(path, "{\"reason\": \"drain\", \"in_seconds\": 45}", 37, NULL),
			 0);
	notice = wait_notice(&fixture->told, "file", 0);
	assert_int_equal(notice.kind, NOTICE_STOP);
	assert_string_equal(notice.reason, "drain");
	assert_in_range(notice.deadline_ms - notice.seen_ms, 15000, 45000);
	assert_int_equal(file_write(path, "{\"kind\": \"cancelled\"}", 21, NULL), 0);
	assert_int_equal(wait_notice(&fixture->told, "file", 1).kind, NOTICE_CANCELLED);
	assert_int_equal(file_write(path, "drain", 5, NULL), 0);
	assert_int_equal(wait_notice(&fixture->told, "file", 2).kind, NOTICE_STOP);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(wait_notice(&fixture->told, "file", 3).kind, NOTICE_CANCELLED);
	assert_int_equal(file_remove_tree(directory, NULL), 0);
}

static void auto_takes_each_override(void **state)
{
	struct fixture *fixture = *state;
	struct source_state states[MOST];

	start_cloud(fixture, &(struct mock_options){.cloud = MOCK_GCP});
	setenv("REPRIEVE_AZURE_METADATA_ENDPOINT", "http://127.0.0.1:9", 1);
	start_watch(fixture, "auto");
	assert_int_equal(cloud_watch_states(fixture->watch, states, MOST), 2);
	assert_string_equal(states[0].name, "gcp");
	assert_string_equal(states[1].name, "azure");
}

static void lists_are_checked(void **state)
{
	static const struct {
		const char *sources;
		size_t count; /* 99: refused */
	} rows[] = {
		{"none", 0},      {"none,aws", 99},
		{"aws,none", 99}, {"file:/a,file:/b,file:/a", 2},
		{"file:", 99},    {"file", 99},
		{"aws,", 99},     {"AWS", 99},
		{"aws,mars", 99},
	};
	struct source_state states[MOST];

	(void)state;
	setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:9", 1);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct cloud_options options = {.sources = rows[i].sources};
		struct cloud_watch *watch = NULL;
		struct err err = {0};
		int started = cloud_watch_start(&options, &watch, &err);

		assert_int_equal(started, rows[i].count == 99 ? -1 : 0);
		if (started < 0)
			assert_int_equal(err.kind, ERR_INVALID);
		else
			assert_int_equal(cloud_watch_states(watch, states, MOST), rows[i].count);
		cloud_watch_stop(watch);
	}
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(aws_spot_notice_is_told_once),
		ROW(aws_rebalance_is_advice),
		ROW(aws_token_is_renewed_after_401),
		ROW(aws_hop_limit_is_told_apart),
		ROW(aws_turned_off_is_told_apart),
		ROW(aws_disabled_by_environment),
		ROW(gcp_preemption_ends_the_hanging_get),
		ROW(gcp_already_preempted_at_the_start),
		ROW(gcp_503_at_the_flip),
		ROW(gcp_maintenance_is_advice),
		ROW(gke_server_is_unavailable),
		ROW(azure_preempt_and_its_cancellation),
		ROW(azure_other_machines_and_freezes_are_no_notices),
		ROW(azure_throttling_is_survived),
		ROW(one_that_hangs_delays_nothing),
		ROW(what_is_not_understood_is_no_notice),
		ROW(the_wrong_cloud_is_unknown),
		ROW(a_file_that_appears_and_goes),
		ROW(auto_takes_each_override),
		ROW(lists_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
