/* Who wrote last, and which of them are gone: with real processes. */
#include "monitor/monitor.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

/* A child that has ended and was not waited for. */
static pid_t ended(int by_signal, int code)
{
	pid_t pid = fork();
	siginfo_t info;

	if (pid == 0) {
		if (by_signal)
			raise(by_signal);
		_exit(code);
	}
	assert_true(pid > 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	return pid;
}

static void test_gone(void **state)
{
	struct recent_writers writers = {0};
	pid_t exited = ended(0, 75), killed = ended(SIGKILL, 0);

	(void)state;
	assert_true(recent_writers_note(&writers, getpid(), 1));
	assert_true(recent_writers_note(&writers, exited, 2));
	assert_true(recent_writers_note(&writers, killed, 3));
	assert_false(recent_writers_note(&writers, exited, 4));
	/* What the code or the signal means is for those to say who wait for it. */
	assert_int_equal(recent_writers_take_gone(&writers), 0);
	assert_int_equal(waitpid(killed, NULL, 0), killed);
	assert_int_equal(recent_writers_take_gone(&writers), killed);
	assert_false(recent_writers_has(&writers, killed));
	assert_true(recent_writers_has(&writers, exited));
	assert_int_equal(waitpid(exited, NULL, 0), exited);
	assert_int_equal(recent_writers_take_gone(&writers), exited);
	assert_int_equal(recent_writers_take_gone(&writers), 0);
	assert_int_equal(writers.count, 1);
}

static void test_the_oldest_gives_way(void **state)
{
	struct recent_writers writers = {0};

	(void)state;
	for (int i = 1; i <= RECENT_WRITERS + 1; i++)
		assert_true(recent_writers_note(&writers, i, i));
	assert_int_equal(writers.count, RECENT_WRITERS);
	assert_true(recent_writers_note(&writers, 1, 0));
	recent_writers_forget(&writers, 1);
	assert_int_equal(writers.count, RECENT_WRITERS - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_the_oldest_gives_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
