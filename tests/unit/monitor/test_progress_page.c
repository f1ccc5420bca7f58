/* The page from both sides: the clients are this process and its children, by shim/reprieve.h. */
#include "monitor/monitor.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "shim/reprieve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

static struct progress_page *page;
static char directory[64];
static char *path;
static struct {
	size_t count;
	pid_t pid;
	int64_t step;
} told;

/* Every test in a process of its own: what the header keeps is for the whole life of a process. */
static void in_child(void (*act)(void))
{
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		alarm(60);
		act();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (status != 0)
		fail_msg("the child ended with %#x", (unsigned)status);
}

#define MUST(fact) must(fact, #fact, __LINE__)
static void must(bool holds, const char *fact, int line)
{
	if (holds)
		return;
	fprintf(stderr, "line %d: %s\n", line, fact);
	_exit(1);
}

static void note_saved(void *argument, pid_t pid, int64_t step)
{
	(void)argument;
	told.count++;
	told.pid = pid;
	told.step = step;
}

static size_t look(int64_t now_ms)
{
	told.count = 0;
	progress_page_scan(page, now_ms);
	progress_page_deliver_saved(page, note_saved, NULL);
	return told.count;
}

static int set_up(void **state)
{
	struct err err;

	(void)state;
	text_set(directory, sizeof(directory), "/tmp/test_report_page.XXXXXX");
	assert_non_null(mkdtemp(directory));
	path = text_format("%s/report.page", directory);
	assert_int_equal(progress_page_open(path, "/nonexistent/bell", &page, &err), 0);
	setenv("REPRIEVE_PAGE", path, 1);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	progress_page_close(page);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(rmdir(directory), 0);
	free(path);
	return 0;
}

static void asks_and_answers(void)
{
	MUST(progress_page_count_polling(page) == 0);
	MUST(!reprieve_requested());
	MUST(progress_page_count_polling(page) == 1 && progress_page_count_unanswered(page) == 0);
	progress_page_request(page);
	MUST(progress_page_count_unanswered(page) == 1);
	MUST(reprieve_requested() && reprieve_requested());
	reprieve_saved(7);
	MUST(!reprieve_requested());
	MUST(look(1) == 1 && told.pid == getpid() && told.step == 7);
	MUST(look(2) == 0);
	progress_page_end_request(page, true, 3);
	progress_page_request(page);
	MUST(reprieve_requested());
	progress_page_end_request(page, false, 4);
	MUST(!reprieve_requested());
}

static void saves_of_its_own_accord(void)
{
	reprieve_saved(-5);
	MUST(look(1) == 1 && told.step == -1);
	MUST(progress_page_count_polling(page) == 0);
	/* A request that came while it was saving is not answered by that. */
	progress_page_request(page);
	reprieve_saved(8);
	MUST(reprieve_requested());
}

static void a_stale_request_is_nobody_s(void)
{
	reprieve_progress(0);
	progress_page_request(page);
	MUST(reprieve_requested());
	progress_page_end_request(page, true, 1000);
	/* It stays up for this one, which may be in the middle of a step... */
	MUST(reprieve_requested());
	if (fork() == 0) {
		MUST(!reprieve_requested()); /* ...but one that begins now is not asked. */
		_exit(0);
	}
	int status;
	MUST(wait(&status) > 0 && status == 0);
	look(61001);
	MUST(!reprieve_requested());
}

static void a_forked_child_is_another(void)
{
	pid_t parent = getpid(), child;
	int status;

	MUST(!reprieve_requested());
	reprieve_progress(3);
	progress_page_request(page);
	child = fork();
	if (child == 0) {
		MUST(reprieve_requested());
		reprieve_saved(4);
		MUST(!reprieve_requested());
		/* All wait for all. */
		MUST(look(1) == 0 && progress_page_count_unanswered(page) == 1);
		_exit(0);
	}
	MUST(waitpid(child, &status, 0) == child && status == 0);
	/* Its word stays although its slot is free again. */
	MUST(look(2) == 0);
	MUST(reprieve_requested());
	reprieve_saved(4);
	MUST(look(3) == 2);
	MUST(told.pid == parent || told.pid == child);
	MUST(progress_page_count_polling(page) == 1);
}

static void steps_are_timed(void)
{
	struct training_progress progress;

	MUST(!progress_page_read_progress(page, &progress));
	MUST(progress_page_last_step(page) == -1);
	reprieve_progress(10);
	MUST(progress_page_last_step(page) == 10);
	look(1000);
	MUST(progress_page_read_progress(page, &progress) && progress.step == 10 &&
	     progress.steps == 1 && progress.step_ms == 1000);
	MUST(!(progress.mean_ms > 0));
	for (int step = 11; step <= 14; step++)
		reprieve_progress(step);
	look(3000);
	MUST(progress_page_read_progress(page, &progress) && progress.step == 14 &&
	     progress.steps == 5);
	MUST(progress.mean_ms > 499 && progress.mean_ms < 501);
	reprieve_progress(15);
	look(7000);
	look(9000);
	MUST(progress_page_read_progress(page, &progress) && progress.step_ms == 7000 &&
	     progress.mean_ms > 501 && progress.mean_ms < 4000);
	MUST(progress_page_count_polling(page) == 0);
}

static void many_processes(void)
{
	int gate[2];
	char byte;

	MUST(pipe(gate) == 0);
	for (int i = 0; i < 40; i++) {
		if (fork() == 0) {
			close(gate[1]);
			reprieve_progress(i);
			MUST(!reprieve_requested());
			MUST(read(gate[0], &byte, 1) == 0);
			_exit(0);
		}
	}
	while (progress_page_count_polling(page) < 40)
		usleep(1000);
	struct training_progress progress;
	look(1);
	MUST(progress_page_read_progress(page, &progress) && progress.step == 0);
	MUST(progress_page_last_step(page) == 0);
	close(gate[1]);
	for (int i = 0, status; i < 40; i++)
		MUST(wait(&status) > 0 && status == 0);
	look(2);
	MUST(progress_page_count_polling(page) == 0);
	MUST(progress_page_last_step(page) == 0);
}

static void *poll_in_thread(void *argument)
{
	size_t *seen = argument;

	for (int i = 0; i < 200000; i++)
		*seen += (size_t)reprieve_requested();
	reprieve_progress(1);
	reprieve_saved(1);
	return NULL;
}

static void threads_at_once(void)
{
	pthread_t threads[4];
	size_t seen[4] = {0};

	for (size_t i = 0; i < 4; i++)
		MUST(pthread_create(&threads[i], NULL, poll_in_thread, &seen[i]) == 0);
	for (int i = 0; i < 50; i++) {
		progress_page_request(page);
		look(i);
		progress_page_end_request(page, false, i);
	}
	for (size_t i = 0; i < 4; i++)
		MUST(pthread_join(threads[i], NULL) == 0);
	MUST(progress_page_count_polling(page) == 1);
}

static void garbage_in_the_page(void)
{
	MUST(!reprieve_requested());
	reprieve_progress(1);
	for (uint32_t seed = 1; seed <= 300; seed++) {
		unsigned char *bytes = (unsigned char *)reprieve__mapped;
		uint32_t word = seed;
		struct training_progress progress;

		for (size_t i = 0; i < 4096 + 512 * 64; i++) {
			word = word * 1664525u + 1013904223u;
			if (seed % 3 == 0 || (word >> 24) < 8)
				bytes[i] = (unsigned char)(word >> 16);
		}
		look((int64_t)seed * 100);
		progress_page_read_progress(page, &progress);
		MUST(progress_page_count_polling(page) <= 512);
		progress_page_end_request(page, seed % 2, 0);
		progress_page_request(page);
	}
}

static void page_is_wrong(void)
{
	static const struct {
		size_t at;
		uint32_t value;
	} rows[] = {{0, 1}, {4, 2}, {16, 63}, {20, 8}, {24, 1u << 30}, {24, 100000}};
	static const uint32_t page_header[25] =
		{REPRIEVE__MAGIC, REPRIEVE__VERSION, 0, 0, 4096, 64, 512};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (fork() == 0) {
			int fd = open(path, O_RDWR);

			MUST(pwrite(fd, &rows[i].value, 4, (off_t)rows[i].at) == 4);
			MUST(!reprieve_requested());
			reprieve_saved(1);
			reprieve_progress(1);
			MUST(progress_page_count_polling(page) == 0);
			_exit(0);
		}
		int status;
		MUST(wait(&status) > 0 && status == 0);
		/* Right again for the next one. */
		int fd = open(path, O_RDWR);
		MUST(pwrite(fd, page_header, 28, 0) == 28 && close(fd) == 0);
	}
	auto_free char *cut = text_format("%s.cut", path);
	int fd = open(cut, O_RDWR | O_CREAT, 0600);
	MUST(write(fd, page_header, 100) == 100 && close(fd) == 0);
	setenv("REPRIEVE_PAGE", cut, 1);
	MUST(!reprieve_requested());
	MUST(unlink(cut) == 0);
}

static void no_page(void)
{
	setenv("REPRIEVE_PAGE", "/nonexistent", 1);
	MUST(!reprieve_requested());
	reprieve_saved(1);
	reprieve_progress(1);
	setenv("REPRIEVE_RESUMING", "1", 1);
	MUST(reprieve_resuming());
	setenv("REPRIEVE_RESUMING", "0", 1);
	MUST(!reprieve_resuming());
}

static void no_variable(void)
{
	unsetenv("REPRIEVE_PAGE");
	unsetenv("REPRIEVE_RESUMING");
	MUST(!reprieve_requested() && !reprieve_resuming());
	reprieve_saved(1);
}

#define IN_CHILD(name)                        \
	static void test_##name(void **state) \
	{                                     \
		(void)state;                  \
		in_child(name);               \
	}
IN_CHILD(asks_and_answers)
IN_CHILD(saves_of_its_own_accord)
IN_CHILD(a_stale_request_is_nobody_s)
IN_CHILD(a_forked_child_is_another)
IN_CHILD(steps_are_timed)
IN_CHILD(many_processes)
IN_CHILD(threads_at_once)
IN_CHILD(garbage_in_the_page)
IN_CHILD(page_is_wrong)
IN_CHILD(no_page)
IN_CHILD(no_variable)

static void test_never_taken_over(void **state)
{
	struct progress_page *second;
	struct err err;

	(void)state;
	assert_int_equal(progress_page_open(path, "bell", &second, &err), -1);
	assert_int_equal(err.kind, ERR_EXISTS);
	assert_int_equal(access(path, F_OK), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(asks_and_answers),
		TEST(saves_of_its_own_accord),
		TEST(a_stale_request_is_nobody_s),
		TEST(a_forked_child_is_another),
		TEST(steps_are_timed),
		TEST(many_processes),
		TEST(threads_at_once),
		TEST(garbage_in_the_page),
		TEST(page_is_wrong),
		TEST(no_page),
		TEST(no_variable),
		TEST(never_taken_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
