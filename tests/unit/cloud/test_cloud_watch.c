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

static void gcp_already_preempted_at_the_start(void **state)
{
	struct fixture *fixture = *state;

	start_cloud(fixture, &(struct mock_options){.cloud = MOCK_GCP});
	mock_control(fixture->mock, "fire", NULL, NULL);
	start_watch(fixture, "gcp");
	assert_int_equal(wait_notice(&fixture->told, "gcp", 0).kind, NOTICE_STOP);
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

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(aws_turned_off_is_told_apart),       ROW(aws_disabled_by_environment),
		ROW(gcp_already_preempted_at_the_start), ROW(azure_throttling_is_survived),
		ROW(one_that_hangs_delays_nothing),      ROW(the_wrong_cloud_is_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
