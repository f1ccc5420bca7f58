#include "request/request.h"

#include "base/clock.h"

#include "unit.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLOW_US 20000

/* The job is this program once more: valgrind, under which no handler is seen from outside, does
 * not follow it there. */
static const char *program;
static int told[2];

static void tell_time(int signal)
{
	int64_t now_ms = clock_monotonic_ms();

	(void)signal;
	(void)!write(STDOUT_FILENO, &now_ms, sizeof(now_ms));
}

/* Says when it got the signal; and first that it is ready. */
static int run_job(void)
{
	int64_t ready = 0;

	signal(SIGTERM, tell_time);
	(void)!write(STDOUT_FILENO, &ready, sizeof(ready));
	while (pause() < 0) {
	}
	return 0;
}

static pid_t start_job(void)
{
	int64_t ready = 1;
	pid_t pid;

	assert_int_equal(pipe(told), 0);
	pid = fork();
	if (pid == 0) {
		/* What fails here leaves no process behind. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(told[1], STDOUT_FILENO);
		execl(program, program, "job", NULL);
		_exit(127);
	}
	close(told[1]);
	assert_int_equal(read(told[0], &ready, sizeof(ready)), sizeof(ready));
	assert_int_equal(ready, 0);
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

/* A signal that the process has got is not one that it has yet to get: it would be given another
 * one in its place. */
static void test_a_signal_was_sent_before_the_process_got_it(void **state)
{
	const struct job_model model = {0};
	size_t asked = 0;
	struct checkpoint_request request = {
		.method = REQUEST_SIGNAL,
		.signal = SIGTERM,
		.whom = PROFILE_TARGET_ALL,
		.patience_ms = RANK_PROGRESS_PATIENCE_MS,
		.sending = on_sending,
		.sent = on_asked,
		.failed = on_failed,
		.model = &model,
		.arg = &asked,
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
	close(told[0]);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_signal_was_sent_before_the_process_got_it),
	};

	if (argc > 1)
		return run_job();
	program = argv[0];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
