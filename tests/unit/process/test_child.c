/* The main process of the job: real processes, started, told of signals, reaped. A real terminal is
 * for tests/e2e/test_tini.py: here it says that it is another one's. */
#include "process/process.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "process/process_tree.h"

#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct signals_inherited inherited;
static struct loop loop;
static struct signals signals;
static struct child child;
static size_t reaped_count;

static void count_reaped(void *arg, pid_t pid, int status)
{
	(void)arg, (void)pid, (void)status;
	reaped_count++;
}

static void received(void *arg, const struct signalfd_siginfo *info)
{
	(void)arg;
	if (info->ssi_signo != SIGCHLD)
		child_forward(&child, info);
	else if (child_reap(&child, count_reaped, NULL))
		loop_stop(&loop);
}

static int begin(void **state)
{
	(void)state;
	reaped_count = 0;
	if (loop_init(&loop, NULL) < 0)
		return -1;
	return signals_open(&signals, &loop, received, NULL, NULL);
}

static int end(void **state)
{
	(void)state;
	while (kill_tree() > 0)
		child_reap(&child, NULL, NULL);
	child_reap(&child, NULL, NULL);
	signals_close(&signals, &loop);
	loop_release(&loop);
	return 0;
}

static void spawn_shell(const char *script, const char *const *set, const char *const *unset)
{
	char shell[] = "/bin/sh", option[] = "-c";
	auto_free char *text = text_copy(script);
	char *argv[] = {shell, option, text, NULL};
	struct err err;

	assert_int_equal(child_spawn(
				 &(struct child_options){
					 .argv = argv,
					 .set = set,
					 .unset = unset,
					 .inherited = &inherited,
				 },
				 &child, &err),
			 0);
	assert_true(child.running);
}

static int run_shell(const char *script, const char *const *set, const char *const *unset)
{
	spawn_shell(script, set, unset);
	assert_int_equal(loop_run(&loop, NULL), 0);
	assert_false(child.running);
	return child.exit_code;
}

static void gives_the_exit_code(void **state)
{
	(void)state;
	assert_int_equal(run_shell("exit 0", NULL, NULL), 0);
	loop.stopped = false;
	assert_int_equal(run_shell("exit 255", NULL, NULL), 255);
	loop.stopped = false;
	assert_int_equal(run_shell("kill -KILL $$", NULL, NULL), 128 + SIGKILL);
}

static void changes_the_environment(void **state)
{
	const char *const set[] = {"ADDED=1", "CHANGED=new", "EMPTY=", NULL};
	const char *const unset[] = {"REMOVED", NULL};

	(void)state;
	setenv("CHANGED", "old", 1);
	setenv("REMOVED", "old", 1);
	setenv("REMOVED_NOT", "kept", 1);
	assert_int_equal(run_shell("[ \"$ADDED\" = 1 ] && [ \"$CHANGED\" = new ] && [ "
				   "\"${EMPTY-x}\" = '' ] &&[ -z \"${REMOVED+x}\" ] && [ "
				   "\"$REMOVED_NOT\" = kept ] &&[ $(env | grep -c ^CHANGED=) = 1 ]",
				   set, unset),
			 0);
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

static void signals_only_what_runs(void **state)
{
	(void)state;
	spawn_shell("exec sleep 1000", NULL, NULL);
	child_signal(&child, SIGTERM);
	assert_int_equal(loop_run(&loop, NULL), 0);
	assert_int_equal(child.exit_code, 128 + SIGTERM);
	child_signal(&child, SIGTERM);
	child_forward(&child, &(struct signalfd_siginfo){.ssi_signo = SIGTERM});
}

static void reaps_orphans(void **state)
{
	(void)state;
	/* The subshells end at once, so that their children fall to us; all are gone before the
	 * main process is. */
	assert_int_equal(run_shell("i=0; while [ $i -lt 50 ]; do (sh -c : &); i=$((i+1)); done;"
				   "while [ $(grep -sl \"^PPid:.$PPID$\" /proc/[0-9]*/status | wc "
				   "-l) -gt 1 ]; do :; done; exit 7",
				   NULL, NULL),
			 7);
	assert_int_equal(reaped_count, 51);
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
	spawn_shell("f() { f & }; sleep 1000 & setsid sleep 1000 & f; exec sleep 1000", NULL, NULL);
	while (living() < 3)
		child_reap(&child, NULL, NULL);
	/* One that is being forked while the others are counted is met in the next round. */
	while (child.running || living() > 0) {
		kill_tree();
		child_reap(&child, NULL, NULL);
	}
	assert_int_equal(child.exit_code, 128 + SIGKILL);
}

/* Else the first descriptor that we open would be what the log and the job write to. */
static void fills_closed_standard_descriptors(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		for (int fd = 0; fd <= 2; fd++)
			close(fd);
		child_prepare(NULL);
		for (int fd = 0; fd <= 2; fd++)
			if (fcntl(fd, F_GETFD) != FD_CLOEXEC)
				_exit(1);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
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

	spawn_shell("kill -TTIN $$; kill -TTIN $$; exit 7", NULL, NULL);
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

/* The shell has continued us for the signal, and does so only once. */
static void with_a_signal_to_end_unseen_by_the_child_we_do_not_stop(void **state)
{
	static const int signals_to_end[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		spawn_reader();
		child_signal(&child, signals_to_end[i]);
		reap_to_the_end();
		assert_int_equal(stops, 0);
		assert_int_equal(child.exit_code, 128 + signals_to_end[i]);
	}
	/* Nobody wants it to end. */
	spawn_reader();
	child_signal(&child, SIGWINCH);
	reap_to_the_end();
	assert_int_equal(stops, 2);
	assert_int_equal(child.exit_code, 7);
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

#define RUN(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RUN(gives_the_exit_code),
		RUN(changes_the_environment),
		RUN(says_why_it_cannot_run),
		RUN(signals_only_what_runs),
		RUN(with_a_signal_to_end_unseen_by_the_child_we_do_not_stop),
		RUN(while_a_notice_stands_we_do_not_stop),
		RUN(reaps_orphans),
		RUN(kills_a_tree_that_forks),
		RUN(fills_closed_standard_descriptors),
	};
	struct err err;

	signals_block(&inherited);
	if (child_prepare(&err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
