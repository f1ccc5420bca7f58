/* Ranks that were asked are looked at as the processes that they are. */
#include "request/request.h"

#include "base/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct heard_news {
	unsigned count;
	char line[RANK_PROGRESS_LINE_SIZE];
};

static void on_news(void *arg, const char *line)
{
	struct heard_news *news = arg;

	news->count++;
	strcpy(news->line, line);
}

static pid_t start_rank(struct rank *rank)
{
	struct process_sample sample;
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	assert_true(process_read_sample(pid, &sample));
	*rank = (struct rank){.pid = pid, .start_time = sample.start_time};
	return pid;
}

static void end_rank(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void test_a_rank_that_ends_is_gone(void **state)
{
	struct heard_news news = {0};
	struct rank ranks[2];
	struct loop loop;
	struct rank_watch watch = {.loop = &loop, .signal = SIGUSR1, .news = on_news, .arg = &news};
	pid_t pids[2] = {start_rank(&ranks[0]), start_rank(&ranks[1])};
	struct err err;

	(void)state;
	log_set_level(LOG_LEVEL_QUIET);
	assert_int_equal(loop_init(&loop, &err), 0);
	/* Another process has the number of the second by now. */
	ranks[1].start_time++;
	rank_watch_begin(&watch, 5000);
	rank_watch_add(&watch, ranks, 0, 0);
	assert_false(watch.timer.armed);
	rank_watch_add(&watch, ranks, 2, 2);
	assert_int_equal(news.count, 1);
	assert_non_null(strstr(news.line, "2/2 ranks asked"));
	assert_true(watch.timer.armed);
	watch.timer.fired(&watch.timer);
	assert_false(watch.progress.items[0].gone);
	assert_true(watch.progress.items[1].gone);
	end_rank(pids[0]);
	rank_watch_end(&watch);
	assert_true(watch.progress.items[0].gone);
	assert_false(watch.timer.armed);
	rank_watch_begin(&watch, 5000);
	assert_int_equal(watch.progress.count, 0);
	end_rank(pids[1]);
	rank_progress_release(&watch.progress);
	loop_release(&loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_rank_that_ends_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
