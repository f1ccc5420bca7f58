/* The runtime directory: made, found by clients, removed, and cleaned up after a
 * killed supervisor. */
#include "control/control.h"
#include "process/process.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"

#include "unit.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char runtime[64];

static int begin(void **state)
{
	(void)state;
	strcpy(runtime, "/tmp/reprieve-test-XXXXXX");
	if (!mkdtemp(runtime))
		return -1;
	return setenv("XDG_RUNTIME_DIR", runtime, 1);
}

static int end(void **state)
{
	(void)state;
	return file_remove_tree(runtime, NULL);
}

/* Of those below `runtime`: the machine may have others. */
struct seen {
	size_t count;
	pid_t pid;
	char job[64];
	char store[64]; /* "": unknown */
};

static struct seen find(bool orphans)
{
	auto_(session_list_release) struct session_list list = {0};
	struct seen seen = {0};

	session_find(&list, orphans, NULL);
	for (size_t i = 0; i < list.count; i++) {
		const struct session_info *info = &list.items[i];

		if (!text_starts(info->directory, runtime))
			continue;
		seen.count++;
		seen.pid = orphans ? info->job_pid : info->pid;
		text_set(seen.job, sizeof(seen.job), info->job);
		text_set(seen.store, sizeof(seen.store), info->store);
	}
	return seen;
}

static void count(void *arg, const char *directory)
{
	*(int *)arg += text_starts(directory, runtime);
}

#define BOOT "boot-1"

static int count_dead(const char *directory)
{
	int dead = 0;

	session_each_dead(directory, count, &dead);
	return dead;
}

/* A supervisor that was killed; `directory`, NULL: it had noted none. */
static void leave(const char *job, unsigned member, const char *directory, const char *boot)
{
	pid_t pid = fork();

	if (pid == 0) {
		struct session session;

		if (session_open(job, member, NULL, &session, NULL) < 0)
			_exit(1);
		if (directory)
			session_note(&session, SESSION_PLACE,
				     text_format("%s\n%s", boot, directory));
		raise(SIGKILL);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* A start in the directory. */
static void start_in(const char *directory)
{
	auto_(session_close) struct session session;

	assert_int_equal(session_open("next", 0, NULL, &session, NULL), 0);
	session_remove_dead(&session, directory, BOOT);
}

static struct seen look(void)
{
	return find(false);
}

static void lives_as_long_as_it_is_open(void **state)
{
	auto_(session_close) struct session session;
	struct stat status;
	struct seen seen;
	char *directory;

	(void)state;
	assert_int_equal(session_open("train-1", 0, NULL, &session, NULL), 0);
	assert_true(text_starts(session.directory, runtime));
	assert_int_equal(stat(session.directory, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0700);
	seen = look();
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.pid, getpid());
	assert_string_equal(seen.job, "train-1");
	auto_free char *path = session_path(&session, SESSION_CONTROL);
	assert_true(text_starts(path, session.directory));
	assert_int_equal(file_write(path, "x", 1, NULL), 0);
	directory = text_copy(session.directory);
	session_close(&session);
	assert_false(file_exists(directory));
	assert_int_equal(look().count, 0);
	assert_null(session_path(&session, SESSION_CONTROL));
	free(directory);
}

static void keeps_several_apart(void **state)
{
	auto_(session_close) struct session one, two;

	(void)state;
	assert_int_equal(session_open("a", 0, NULL, &one, NULL), 0);
	assert_int_equal(session_open("a", 0, NULL, &two, NULL), 0);
	assert_string_not_equal(one.directory, two.directory);
	assert_int_equal(look().count, 2);
}

static void is_dead_with_its_process(void **state)
{
	auto_(session_close) struct session next;
	auto_free char *above = text_format("%s/reprieve", runtime);
	int ends[2];
	char byte;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		struct session session;

		if (session_open("killed", 3, NULL, &session, NULL) < 0)
			_exit(1);
		session_note(&session, SESSION_PLACE, text_copy(BOOT "\n/a"));
		if (write(ends[1], "x", 1) != 1)
			_exit(2);
		for (;;)
			pause();
	}
	assert_int_equal(read(ends[0], &byte, 1), 1);
	assert_string_equal(look().job, "killed");
	assert_int_equal(count_dead("/a"), 0);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(look().count, 0);
	assert_int_equal(count_dead("/a"), 1);
	assert_false(file_directory_is_empty(above));
	assert_int_equal(session_open("next", 0, NULL, &next, NULL), 0);
	session_remove_dead(&next, "/a", BOOT);
	session_close(&next);
	assert_true(file_directory_is_empty(above));
	close(ends[0]);
	close(ends[1]);
}

static struct seen look_for_orphans(void)
{
	return find(true);
}

static pid_t wait_until_killed(void)
{
	pid_t pid = fork();

	while (pid == 0)
		pause();
	return pid;
}

/* A job whose supervisor was killed is found as long as it runs, by each start. */
static void finds_a_job_that_was_left_behind(void **state)
{
	auto_free char *above = text_format("%s/reprieve", runtime);
	pid_t job = wait_until_killed(), supervisor = fork();
	struct seen seen;

	(void)state;
	if (supervisor == 0) {
		struct session session;

		if (session_open("left", 0, "file:///runs", &session, NULL) < 0)
			_exit(1);
		session_note(&session, SESSION_PROCESS, process_identity(getpid()));
		session_note(&session, SESSION_PROCESS,
			     process_identity(job)); /* another process takes its place */
		if (look_for_orphans().count > 0)
			_exit(2);
		raise(SIGKILL);
	}
	assert_int_equal(waitpid(supervisor, NULL, 0), supervisor);
	for (int start = 0; start < 2; start++) {
		auto_(session_close) struct session next;

		assert_int_equal(session_open("next", 0, NULL, &next, NULL), 0);
		session_remove_dead(&next, "/a", BOOT);
		session_note(&next, SESSION_PROCESS, process_identity(getpid()));
		seen = look_for_orphans();
		assert_int_equal(seen.count, 1);
		assert_int_equal(seen.pid, job);
		assert_string_equal(seen.job, "left");
		assert_string_equal(seen.store, "file:///runs");
	}
	kill(job, SIGKILL);
	assert_int_equal(waitpid(job, NULL, 0), job);
	assert_int_equal(look_for_orphans().count, 0);
	{
		auto_(session_close) struct session last;

		assert_int_equal(session_open("last", 0, NULL, &last, NULL), 0);
		session_remove_dead(&last, "/a", BOOT);
	}
	assert_true(file_directory_is_empty(above));
}

/* Jobs that were killed together: each start reads and removes what is of its own directory. */
static void leaves_to_others_what_is_theirs(void **state)
{
	auto_free char *above = text_format("%s/reprieve", runtime);

	(void)state;
	leave("a", 1, "/a", BOOT);
	leave("b", 2, "/b with a name", BOOT);
	leave("c", 3, "/c", "boot-0");
	leave("d", 4, NULL, "");
	leave("e", 5, "/e", "");
	start_in("/a");
	assert_int_equal(count_dead("/a"), 0);
	assert_int_equal(count_dead("/b"), 0);
	assert_int_equal(count_dead("/c"), 0);
	assert_int_equal(count_dead("/e"), 0);
	assert_int_equal(count_dead(""), 0);
	for (int start = 0; start < 2; start++) {
		assert_int_equal(count_dead("/b with a name"), 1);
		start_in("/other");
	}
	start_in("/b with a name");
	assert_true(file_directory_is_empty(above));
}

/* Of directories in which nobody ever starts again. */
static void leaves_no_more_than_the_youngest(void **state)
{
	auto_free char *above = text_format("%s/reprieve", runtime);
	int found = 0;

	(void)state;
	for (int i = 0; i < LEFT_SESSIONS_MOST + 3; i++) {
		auto_free char *directory = text_format("/%d", i);

		leave("j", 0, directory, BOOT);
	}
	start_in("/other");
	for (int i = 0; i < LEFT_SESSIONS_MOST + 3; i++) {
		auto_free char *directory = text_format("/%d", i);

		found += count_dead(directory);
	}
	assert_int_equal(found, LEFT_SESSIONS_MOST);
	for (int i = 0; i < LEFT_SESSIONS_MOST + 3; i++) {
		auto_free char *directory = text_format("/%d", i);

		start_in(directory);
	}
	assert_true(file_directory_is_empty(above));
}

/* Somebody else's directory, a link, or one that others may enter is passed over
 * for the next place. */
static void trusts_only_its_own(void **state)
{
	auto_(session_close) struct session session;
	auto_free char *above = text_format("%s/reprieve", runtime);
	auto_free char *elsewhere = text_format("%s/elsewhere", runtime);

	(void)state;
	assert_int_equal(mkdir(elsewhere, 0700), 0);
	assert_int_equal(symlink(elsewhere, above), 0);
	assert_int_equal(session_open("a", 0, NULL, &session, NULL), 0);
	assert_false(text_starts(session.directory, runtime));
	assert_true(file_directory_is_empty(elsewhere));
	session_close(&session);
	assert_int_equal(unlink(above), 0);
	assert_int_equal(mkdir(above, 0700), 0);
	assert_int_equal(chmod(above, 0755), 0);
	assert_int_equal(session_open("a", 0, NULL, &session, NULL), 0);
	assert_false(text_starts(session.directory, runtime));
	assert_int_equal(look().count, 0);
}

/* Another user has made what we would make in /tmp and /dev/shm. Root alone can play both. */
static void nobody_can_take_every_place(void **state)
{
	static const uid_t victim = 54321;
	char expected[PATH_MAX], home[PATH_MAX];
	static const char *const taken[] = {"/tmp/reprieve-54321", "/dev/shm/reprieve-54321"};
	int status;

	(void)state;
	if (geteuid() != 0)
		skip();
	snprintf(expected, sizeof(expected), "%s/home/.cache/reprieve/", runtime);
	snprintf(home, sizeof(home), "%s/home", runtime);
	for (size_t i = 0; i < 2; i++)
		assert_true(mkdir(taken[i], 0777) == 0 || file_is_directory(taken[i]));
	assert_int_equal(mkdir(home, 0700), 0);
	assert_int_equal(chown(home, victim, victim), 0);
	assert_int_equal(chmod(runtime, 0755), 0);
	if (fork() == 0) {
		auto_(session_close) struct session session = {.lock_fd = -1};
		bool fine =
			unsetenv("XDG_RUNTIME_DIR") == 0 && unsetenv("XDG_CACHE_HOME") == 0 &&
			setenv("HOME", home, 1) == 0 && setresuid(victim, victim, victim) == 0 &&
			session_open("a", 0, NULL, &session, NULL) == 0 &&
			text_starts(session.directory, expected) && look().count == 1;

		_exit(fine ? 0 : 1);
	}
	assert_true(wait(&status) > 0);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(rmdir(taken[i]), 0);
	assert_int_equal(status, 0);
}

static void takes_the_next_place_where_paths_are_long(void **state)
{
	auto_(session_close) struct session session;
	char longer[160];

	(void)state;
	snprintf(longer, sizeof(longer), "%s/%060d", runtime, 0);
	assert_int_equal(mkdir(longer, 0700), 0);
	setenv("XDG_RUNTIME_DIR", longer, 1);
	assert_int_equal(session_open("a", 0, NULL, &session, NULL), 0);
	assert_false(text_starts(session.directory, runtime));
	setenv("XDG_RUNTIME_DIR", runtime, 1);
}

static bool remove_dead(const struct session *session)
{
	session_remove_dead(session, "/a", BOOT);
	return true;
}

/* Eight supervisors at once, each of which also cleans up what it takes for dead:
 * nobody loses a live one. */
static void survives_a_race(void **state)
{
	pid_t pids[8];

	(void)state;
	for (int i = 0; i < 8; i++) {
		pids[i] = fork();
		if (pids[i] != 0)
			continue;
		for (int round = 0; round < 100; round++) {
			struct session session;
			bool fine = session_open("race", 0, NULL, &session, NULL) == 0 &&
				    remove_dead(&session) && file_is_directory(session.directory) &&
				    look().count > 0 && file_is_directory(session.directory) &&
				    text_starts(session.directory, runtime);

			if (!fine)
				_exit(1);
			session_close(&session);
		}
		_exit(0);
	}
	for (int i = 0; i < 8; i++) {
		int status;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(lives_as_long_as_it_is_open, begin, end),
		cmocka_unit_test_setup_teardown(keeps_several_apart, begin, end),
		cmocka_unit_test_setup_teardown(is_dead_with_its_process, begin, end),
		cmocka_unit_test_setup_teardown(finds_a_job_that_was_left_behind, begin, end),
		cmocka_unit_test_setup_teardown(leaves_to_others_what_is_theirs, begin, end),
		cmocka_unit_test_setup_teardown(leaves_no_more_than_the_youngest, begin, end),
		cmocka_unit_test_setup_teardown(trusts_only_its_own, begin, end),
		cmocka_unit_test_setup_teardown(nobody_can_take_every_place, begin, end),
		cmocka_unit_test_setup_teardown(takes_the_next_place_where_paths_are_long, begin,
						end),
		cmocka_unit_test_setup_teardown(survives_a_race, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
