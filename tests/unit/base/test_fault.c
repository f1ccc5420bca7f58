/* Fault points: dead silent without the variable, SIGKILL at the named one with it. Each case runs
 * in a child. */
#include "base/fault.h"

#include "unit.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Passes `times` times through point "a_point" and then leaves with 7. */
static int status_with(const char *chosen, int times)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		if (chosen)
			setenv("REPRIEVE_FAULT", chosen, 1);
		else
			unsetenv("REPRIEVE_FAULT");
		for (int i = 0; i < times; i++)
			fault_point("a_point");
		_exit(7);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void assert_survives(const char *chosen, int times)
{
	int status = status_with(chosen, times);

	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
}

static void assert_dies(const char *chosen, int times)
{
	int status = status_with(chosen, times);

	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
}

static void assert_stands_still(const char *chosen, int times)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		setenv("REPRIEVE_FAULT", chosen, 1);
		for (int i = 0; i < times; i++)
			fault_point("a_point");
		_exit(7);
	}
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(kill(pid, SIGCONT), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static void test_points(void **state)
{
	(void)state;
	assert_survives(NULL, 3);
	assert_survives("", 3);
	assert_survives("other_point", 3);
	assert_survives("a_poin", 3);
	assert_survives("a_point_more", 3);
	assert_dies("a_point", 1);
	assert_survives("a_point:3", 2);
	assert_dies("a_point:3", 3);
	assert_survives("a_point/sto", 1);
	assert_stands_still("a_point/stop", 2);
	assert_stands_still("a_point:2/stop", 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_points)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
