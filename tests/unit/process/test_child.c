/* The main process of the job: real processes, started, told of signals, reaped. A real terminal is
 * for tests/e2e/test_tini.py: here it says that it is another one's. */
#include "process/process.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "process/process_tree.h"

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct signals_inherited inherited;
static struct child child;

static int end(void **state)
{
	(void)state;
	while (kill_tree() > 0)
		child_reap(&child, NULL, NULL);
	child_reap(&child, NULL, NULL);
	return 0;
}

static void spawn_shell(const char *script)
{
	char shell[] = "/bin/sh", option[] = "-c";
	auto_free char *text = text_copy(script);
	char *argv[] = {shell, option, text, NULL};
	struct err err;

	assert_int_equal(child_spawn(
				 &(struct child_options){
					 .argv = argv,
					 .inherited = &inherited,
				 },
				 &child, &err),
			 0);
	assert_true(child.running);
}

static void says_why_it_cannot_run(void **state)
{
	const struct {
		const char *command;
		int code;
		const char *text;
	} rows[] = {
		{"no-such-command", 127, "no such command"},
		{"/no/such/file", 127, "No such file"},
		{"/etc/passwd/x", 127, "Not a directory"},
		{"/etc/passwd", 126, "Permission denied"},
		{"/tmp", 126, "it is a directory: name the program in it"},
		/* A whole line in quotes is one word. */
		{"python3 train.py", 127, "write it without the quotes, or behind `sh -c`"},
		{"/no/such/python3 train.py", 127, "write it without the quotes"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_free char *command = text_copy(rows[i].command);
		char *argv[] = {command, NULL};
		struct err err;

		assert_int_equal(child_spawn(
					 &(struct child_options){
						 .argv = argv,
						 .inherited = &inherited,
					 },
					 &child, &err),
				 -1);
		assert_int_equal(child.exit_code, rows[i].code);
		assert_non_null(strstr(err.text, rows[i].text));
		assert_non_null(strstr(err.text, rows[i].command));
		assert_false(child.running);
	}
}

static size_t living(void)
{
	auto_(process_tree_release) struct process_tree tree = {0};
	size_t count = 0;

	assert_int_equal(process_tree_read(getpid(), PROCESS_TREE_BRIEF, &tree, NULL), 0);
	for (size_t i = 0; i < tree.count; i++)
		count += !process_is_dead(&tree.processes[i]);
	return count;
}

/* Every process of it starts the next one and ends, so that each look at the table
 * misses somebody. */
static void kills_a_tree_that_forks(void **state)
{
	(void)state;
	spawn_shell("f() { f & }; sleep 1000 & setsid sleep 1000 & f; exec sleep 1000");
	while (living() < 3)
		child_reap(&child, NULL, NULL);
	/* One that is being forked while the others are counted is met in the next round. */
	while (child.running || living() > 0) {
		kill_tree();
		child_reap(&child, NULL, NULL);
	}
	assert_int_equal(child.exit_code, 128 + SIGKILL);
}

/* Its children end at once, and nobody reaps them: a round of kill_tree_below() finds nobody to
 * kill, however many have come and gone meanwhile. */
static void counts_no_dead_as_new(void **state)
{
	auto_(process_tree_release) struct process_tree tree = {0};
	pid_t forker = fork();
	int64_t began_ms = 0, read_ms = 0;

	(void)state;
	for (int i = 0; forker == 0 && i < 20000; i++) {
		if (fork() == 0)
			_exit(0);
		if (i > 1500)
			usleep(500);
	}
	if (forker == 0)
		_exit(0);
	while (tree.count < 1500) {
		process_tree_release(&tree);
		began_ms = clock_monotonic_ms();
		assert_int_equal(process_tree_read(forker, PROCESS_TREE_BRIEF, &tree, NULL), 0);
		read_ms = clock_monotonic_ms() - began_ms;
	}
	began_ms = clock_monotonic_ms();
	kill_tree_below(forker);
	assert_in_range(clock_monotonic_ms() - began_ms, 0, 100 + 12 * read_ms);
	kill(forker, SIGKILL);
	assert_int_equal(waitpid(forker, NULL, 0), forker);
}

static unsigned stops;

void __wrap_signals_stop_self(int signal, bool group);
void __wrap_signals_stop_self(int signal, bool group)
{
	(void)signal, (void)group;
	stops++;
}

pid_t __wrap_tcgetpgrp(int fd);
pid_t __wrap_tcgetpgrp(int fd)
{
	(void)fd;
	return 1;
}

/* Stops as one that reads the terminal in the background. */
static void spawn_reader(void)
{
	siginfo_t info;

	spawn_shell("kill -TTIN $$; kill -TTIN $$; exit 7");
	child.terminal = CHILD_TERMINAL_SHARED;
	assert_int_equal(waitid(P_PID, (id_t)child.pid, &info, WSTOPPED | WNOWAIT), 0);
	stops = 0;
}

static void reap_to_the_end(void)
{
	while (child.running) {
		siginfo_t info;

		assert_int_equal(waitid(P_PID, (id_t)child.pid, &info,
					WSTOPPED | WEXITED | WNOWAIT),
				 0);
		child_reap(&child, NULL, NULL);
	}
}

/* Its time comes later: until then it waits for the terminal, and then sees the signal. */
static void while_a_notice_stands_we_do_not_stop(void **state)
{
	(void)state;
	spawn_reader();
	child.ending = true;
	child_reap(&child, NULL, NULL);
	assert_true(child.running && child.stopped);
	assert_int_equal(stops, 0);
	child_signal(&child, SIGTERM);
	reap_to_the_end();
	assert_int_equal(stops, 0);
	assert_int_equal(child.exit_code, 128 + SIGTERM);
}

#define RUN(test) cmocka_unit_test_teardown(test, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RUN(says_why_it_cannot_run),
		RUN(while_a_notice_stands_we_do_not_stop),
		RUN(kills_a_tree_that_forks),
		RUN(counts_no_dead_as_new),
	};
	struct err err;

	signals_block(&inherited);
	if (child_prepare(&err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
