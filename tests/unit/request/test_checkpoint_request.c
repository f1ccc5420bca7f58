#include "request/checkpoint_request.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLOW_US 20000

/* A job that says when it got the signal. */
static int told[2];

static void tell_time(int signal)
{
	int64_t now_ms = clock_monotonic_ms();

	(void)signal;
	(void)!write(told[1], &now_ms, sizeof(now_ms));
}

static pid_t start_job(void)
{
	char ready = 0;
	pid_t pid;
	int pipes[2];

	assert_int_equal(pipe(told), 0);
	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	if (pid == 0) {
		signal(SIGTERM, tell_time);
		(void)!write(pipes[1], &ready, 1);
		for (;;)
			pause();
	}
	assert_int_equal(read(pipes[0], &ready, 1), 1);
	close(pipes[0]);
	close(pipes[1]);
	return pid;
}

/* Each takes its time, as on a machine that is busy. */
static void on_sending(void *arg)
{
	(void)arg;
	usleep(SLOW_US);
}

static void on_asked(void *arg, const struct rank *ranks, size_t count, size_t expected)
{
	(void)ranks;
	(void)expected;
	*(size_t *)arg += count;
	usleep(SLOW_US);
}

static void on_failed(void *arg, const char *why)
{
	(void)arg;
	fail_msg("%s", why);
}

static size_t no_writers(void *arg, pid_t *pids, size_t most)
{
	(void)arg;
	(void)pids;
	(void)most;
	return 0;
}

/* A signal that the process has got is not one that it has yet to get: it would be given another
 * one in its place. */
static void test_a_signal_was_sent_before_the_process_got_it(void **state)
{
	size_t asked = 0;
	struct checkpoint_request request = {
		.method = REQUEST_SIGNAL,
		.signal = SIGTERM,
		.whom = PROFILE_TARGET_ALL,
		.callbacks = {.on_request_sending = on_sending,
			      .asked = on_asked,
			      .on_request_failed = on_failed,
			      .writers = no_writers,
			      .arg = &asked},
	};
	pid_t pid = start_job();
	struct loop loop;
	int64_t before_ms = clock_monotonic_ms(), got_ms = 0;
	struct err err;

	(void)state;
	assert_int_equal(loop_init(&loop, &err), 0);
	request.loop = &loop;
	checkpoint_request_start(&request, pid);
	assert_int_equal(asked, 1);
	assert_int_equal(read(told[0], &got_ms, sizeof(got_ms)), sizeof(got_ms));
	assert_true(checkpoint_request_has_signalled(&request, pid, 0));
	assert_true(checkpoint_request_has_signalled(&request, pid, before_ms));
	assert_false(checkpoint_request_has_signalled(&request, pid, got_ms));
	assert_false(checkpoint_request_has_signalled(&request, pid + 1, 0));
	checkpoint_request_stop(&request);
	checkpoint_request_release(&request);
	loop_release(&loop);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_signal_was_sent_before_the_process_got_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
