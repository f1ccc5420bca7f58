/* Programs that work for us: real ones, of the shell. */
#include "base/program.h"

#include "base/clock.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "unit.h"

#define LONG_MS 60000

static int run(const char *script, struct program program, struct bytes *output, int *status,
	       struct err *err)
{
	char *const argv[] = {(char *)"sh", (char *)"-c", (char *)script, NULL};

	program.argv = argv;
	if (!program.timeout_ms)
		program.timeout_ms = LONG_MS;
	return program_run(&program, output, status, err);
}

static void test_what_it_prints_and_how_it_ends(void **state)
{
	char *const variables[] = {(char *)"PATH=/usr/bin:/bin", (char *)"WORD=theirs", NULL};
	static const struct {
		const char *script, *output;
		int status; /* of the shell */
		bool with_errors, own_variables;
	} rows[] = {
		{"echo one; echo two", "one\ntwo\n", 0, false, false},
		{"exit 3", "", 3, false, false},
		{"echo out; exec 2>&1; echo both >&2", "out\nboth\n", 0, false, false},
		{"echo oops >&2; exit 1", "oops\n", 1, true, false},
		{"echo $WORD", "theirs\n", 0, false, true},
		/* It is not asked anything, and gets what is left of nobody's terminal. */
		{"cat; echo end", "end\n", 0, false, false},
		/* A group of its own. */
		{"[ $(ps -o pgid= -p $$) = $$ ] && echo own", "own\n", 0, false, false},
	};
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bytes output = {.limit = 4096};
		int status = -1;

		if (run(rows[i].script,
			(struct program){
				.with_errors = rows[i].with_errors,
				.environment = rows[i].own_variables ? variables : NULL,
			},
			&output, &status, &err) < 0)
			fail_msg("%s: %s", rows[i].script, err.text);
		if (output.size != strlen(rows[i].output) ||
		    (output.size && memcmp(output.data, rows[i].output, output.size) != 0))
			fail_msg("%s: %.*s", rows[i].script, (int)output.size, (char *)output.data);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == rows[i].status);
		bytes_release(&output);
	}
}

/* As in our threads, where all signals are blocked and some are ignored. */
static void test_signals_are_as_at_a_fresh_start(void **state)
{
	struct bytes output = {.limit = 4096};
	sigset_t all, before;
	struct err err;
	int status;

	(void)state;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(run("kill -PIPE $$; echo survived", (struct program){0}, &output, &status,
			     &err),
			 0);
	sigprocmask(SIG_SETMASK, &before, NULL);
	signal(SIGPIPE, SIG_DFL);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE && output.size == 0);
	bytes_release(&output);
}

static void test_what_goes_wrong(void **state)
{
	char *const nowhere[] = {(char *)"/no/such/program", NULL};
	const struct program missing = {.argv = nowhere, .timeout_ms = LONG_MS};
	struct bytes output = {.limit = 8};
	struct cancel cancel;
	struct err err;
	int status;

	(void)state;
	/* Under valgrind posix_spawn() does not tell of it: there the child ends with 127. */
	if (program_run(&missing, &output, &status, &err) == 0)
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 127);
	else
		assert_int_equal(err.kind, ERR_NOT_FOUND);
	/* What holds its output open goes with it. */
	assert_int_equal(run("sleep 1000 & sleep 1000", (struct program){.timeout_ms = 50}, &output,
			     &status, &err),
			 -1);
	assert_int_equal(err.kind, ERR_RETRY);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_int_equal(run("echo too long for it; sleep 1000", (struct program){0}, &output,
			     &status, &err),
			 -1);
	assert_int_equal(cancel_init(&cancel, &err), 0);
	cancel_raise(&cancel);
	assert_int_equal(run("sleep 1000", (struct program){.cancel = &cancel}, &output, &status,
			     &err),
			 -1);
	assert_int_equal(err.kind, ERR_CANCELLED);
	cancel_release(&cancel);
	bytes_release(&output);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_it_prints_and_how_it_ends),
		cmocka_unit_test(test_signals_are_as_at_a_fresh_start),
		cmocka_unit_test(test_what_goes_wrong),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
