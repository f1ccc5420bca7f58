/* Who is kept out of a checkpoint directory: by a run, and by a job that has outlived its run. */
#include "workspace/workspace.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "process/process_tree.h"

#include "unit.h"

#include <fcntl.h>

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char root[64];
static pid_t job;

static int begin(void **state)
{
	(void)state;
	strcpy(root, "/tmp/test_directory_lock.XXXXXX");
	if (!mkdtemp(root))
		return -1;
	job = fork();
	if (job == 0)
		for (;;)
			pause();
	return job < 0 ? -1 : 0;
}

static void end_job(void)
{
	siginfo_t info;

	kill(job, SIGKILL);
	/* It stays a zombie, as one does that nobody reaps. */
	waitid(P_PID, (id_t)job, &info, WEXITED | WNOWAIT);
}

static int end(void **state)
{
	(void)state;
	end_job();
	waitpid(job, NULL, 0);
	return file_remove_tree(root, NULL);
}

static char holder[LOCK_HOLDER_SIZE];

static int lock_root(const char *name, struct cancel *cancel, struct err *why)
{
	auto_close int folder = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return directory_lock(folder, name, cancel, holder, why);
}

/* Whoever only looks takes nothing, and makes nothing. */
static void test_a_look(void **state)
{
	auto_close int folder = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct err err = {0};
	auto_close int first = -1;
	int last;

	(void)state;
	assert_false(directory_lock_is_held(folder, &last, &err));
	assert_int_equal(faccessat(folder, "lock", F_OK, 0), -1);
	first = lock_root("first", NULL, &err);
	assert_true(first >= 0);
	assert_true(directory_lock_is_held(folder, &last, &err));
	assert_int_equal(err.kind, ERR_EXISTS);
	assert_non_null(strstr(err.text, "job first"));
	close(steal_fd(&first));
	assert_false(directory_lock_is_held(folder, &last, &err));
	first = lock_root("second", NULL, &err);
	assert_true(first >= 0);
}

static void test_two_runs(void **state)
{
	struct err err = {0};
	auto_close int first = lock_root("first", NULL, &err);

	(void)state;
	assert_true(first >= 0);
	assert_string_equal(holder, "");
	assert_int_equal(lock_root("second", NULL, &err), -1);
	assert_string_equal(holder, "first");
	assert_int_equal(err.kind, ERR_EXISTS);
	assert_non_null(strstr(err.text, "another run here uses it"));
	assert_non_null(strstr(err.text, "job first"));
}

static void test_a_job_that_outlives_its_run(void **state)
{
	struct err err = {0};
	auto_close int first = lock_root("first", NULL, &err);
	auto_free char *process = text_format("process %d, job first", (int)job);
	auto_close int second = -1;

	(void)state;
	assert_true(first >= 0);
	directory_lock_note_job(first, job);
	close(steal_fd(&first));
	/* Nor may the first refusal lose what keeps out the next one. */
	for (int round = 0; round < 2; round++) {
		assert_int_equal(lock_root("second", NULL, &err), -1);
		assert_int_equal(err.kind, ERR_EXISTS);
		assert_non_null(strstr(err.text, process));
	}
	assert_int_equal(kill(job, 0), 0);
	end_job();
	second = lock_root("second", NULL, &err);
	assert_true(second >= 0);
	assert_string_equal(holder, "first");
}

static uint64_t own_namespace(void)
{
	struct stat status;

	assert_int_equal(stat("/proc/self/ns/pid", &status), 0);
	return status.st_ino;
}

static void cut(char *text, int words)
{
	for (; words > 0; words--)
		text += strcspn(text, " \n") + 1;
	*text = '\0';
}

/* The same number, and not that job; and what was cut off, or written by an older version. */
static void test_whom_a_note_does_not_mean(void **state)
{
	const uint64_t start = process_start_time(job), namespace = own_namespace();
	auto_(bytes_release) struct bytes boot = {0};
	auto_free char *path = text_format("%s/lock", root);
	char own[64] = "";
	const struct {
		const char *boot;
		uint64_t start, namespace;
		int words; /* so many are written */
	} rows[] = {
		{"7d5b7f6e-0000-4000-8000-000000000000", start, namespace, 6},
		{own, start + 1, namespace, 6},
		{own, start, namespace + 1, 6},
		{own, start, namespace, 5},
		{own, start, namespace, 4},
		{own, start, namespace, 3},
		{own, start, namespace, 1},
		{own, start, namespace, 0},
	};

	(void)state;
	assert_int_equal(file_read("/proc/sys/kernel/random/boot_id", &boot, NULL), 0);
	memcpy(own, boot.data, boot.size - 1);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_free char *text = NULL;
		auto_close int fd = -1;

		text = text_format("%s 1 j\n%d %" PRIu64 " %" PRIu64 "\n", rows[i].boot, (int)job,
				   rows[i].start, rows[i].namespace);
		cut(text, rows[i].words);
		assert_int_equal(file_write(path, text, strlen(text), NULL), 0);
		fd = lock_root("second", NULL, NULL);
		assert_true(fd >= 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_look, begin, end),
		cmocka_unit_test_setup_teardown(test_two_runs, begin, end),
		cmocka_unit_test_setup_teardown(test_a_job_that_outlives_its_run, begin, end),
		cmocka_unit_test_setup_teardown(test_whom_a_note_does_not_mean, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
