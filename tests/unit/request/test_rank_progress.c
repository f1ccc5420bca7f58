/* What is said of a request, and when: scripts of looks at processes. */
#include "request/request.h"

#include "base/log.h"

#include "unit.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE 5000

/* One letter for each rank at the time of a look: what it does by then. */
#define NOT_ASKED '.'
#define PENDING 'p'   /* asked, and its signal waits */
#define COMPUTING 'c' /* delivered, and it burns time */
#define WAITING 'w'   /* delivered, and it sleeps all the time */
#define STEPPING 'n'  /* delivered, and it sleeps again and again */
#define SAVING 's'
#define GONE 'x'
#define STOPPED 't'
#define IN_KERNEL 'd'
#define WRITER 'W' /* as WAITING, and it wrote the checkpoint before */

struct scene {
	const char *name;
	int64_t at_ms[6];
	const char *ranks[6]; /* at these times; the first one asks */
	const char *lines[6]; /* what is said then; NULL: nothing */
	bool unnumbered;
	size_t expected; /* 0: as many letters as there are */
};

// clang-format off
static const struct scene scenes[] = {
	{.name = "one process that saves at once: nothing is added", {0, 250, 6000},
		{"c", "s", "s"}, {NULL, NULL, NULL}, .unnumbered = true},
	{.name = "one process that computes, said again when it has taken twice as long",
		{0, 250, 5000, 6000, 9000, 10000}, {"c", "c", "c", "c", "c", "c"},
		{NULL, NULL,
			"process 100 has not begun to save for 5 s (it has got the signal, and goes on)", NULL, NULL,
			"process 100 has not begun to save for 10 s (it has got the signal, and goes on)"},
			.unnumbered = true},
	{.name = "then it saves", {0, 5000, 6500, 20000}, {"w", "w", "s", "s"},
		{NULL, "rank 0 has not begun to save for 5 s (it waits in one long call)", NULL, NULL}},
	{.name = "it has noted the wish, and sleeps in each step", {0, 250, 5000, 10000},
		{"n", "n", "n", "n"},
		{NULL, NULL, "rank 0 has not begun to save for 5 s (it has got the signal, and goes on)",
			"rank 0 has not begun to save for 10 s (it has got the signal, and goes on)"}},
	{.name = "after its last step it waits for another rank", {0, 2000, 5000, 10000},
		{"n", "n", "w", "w"},
		{NULL, NULL, "rank 0 has not begun to save for 5 s (it has got the signal, and goes on)",
			"rank 0 has not begun to save for 10 s (it waits in one long call)"}},
	{.name = "eight ranks, seven save",
		{0, 200, 1200, 12200, 13000, 25000},
		{"pppppppp", "cccccccc", "sssscsss", "ssscssss", "ssscssss", "ssscssss"},
		{"8/8 ranks asked in 0.0 s", NULL, "8/8 ranks asked in 0.0 s, 7 saving",
			"8/8 ranks asked in 0.0 s, 8 saving", NULL, NULL}},
	{.name = "one of eight does not react",
		{0, 1200, 12200, 13000, 24500},
		{"cccccccc", "ssscssss", "ssscssss", "ssscssss", "ssscssss"},
		{"8/8 ranks asked in 0.0 s", "8/8 ranks asked in 0.0 s, 7 saving",
			"8/8 ranks asked in 0.0 s, 7 saving, rank 3 has not begun to save for 12 s (it "
			"has got the signal, and goes on)", NULL,
			"8/8 ranks asked in 0.0 s, 7 saving, rank 3 has not begun to save for 24 s (it "
			"has got the signal, and goes on)"}},
	{.name = "rank 0 writes for all: the others are no news",
		{0, 1500, 9000, 60000}, {"wwww", "swww", "swww", "swww"},
		{"4/4 ranks asked in 0.0 s", "4/4 ranks asked in 0.0 s, 1 saving", NULL, NULL}},
	{.name = "but one that wrote before is",
		{0, 1500, 9000}, {"wwwW", "swwW", "swwW"},
		{"4/4 ranks asked in 0.0 s", "4/4 ranks asked in 0.0 s, 1 saving",
			"4/4 ranks asked in 0.0 s, 1 saving, rank 3 has not begun to save for 9 s (it "
			"waits in one long call)"}},
	{.name = "nobody reacts", {0, 7000, 8000}, {"cw", "cw", "cw"},
		{"2/2 ranks asked in 0.0 s",
			"2/2 ranks asked in 0.0 s, 2 have not begun to save for 7 s (rank 0: it has "
			"got the signal, and goes on)", NULL}},
	{.name = "a rank that comes late", {0, 1500, 3000}, {"c.", "s.", "sc"},
		{NULL, "1/2 ranks asked in 0.0 s, 1 saving", "2/2 ranks asked in 3.0 s, 1 saving"},
			.expected = 2},
	{.name = "one is gone before it saved", {0, 2000}, {"ccc", "sxs"},
		{"3/3 ranks asked in 0.0 s", "3/3 ranks asked in 0.0 s, 2 saving, 1 gone"}},
	{.name = "one that has saved and gone is not missed", {0, 2000, 3500},
		{"ccc", "sss", "sxs"},
		{"3/3 ranks asked in 0.0 s", "3/3 ranks asked in 0.0 s, 3 saving", NULL}},
	{.name = "its signal waits", {0, 6000}, {"p", "p"},
		{NULL, "rank 0 has not begun to save for 6 s (it blocks the signal)"}},
	{.name = "it is stopped", {0, 6000}, {"t", "t"},
		{NULL, "rank 0 has not begun to save for 6 s (it is stopped)"}},
	{.name = "it hangs", {0, 6000}, {"d", "d"},
		{NULL, "rank 0 has not begun to save for 6 s (it hangs in the kernel, as for a disk)"}},
	{.name = "processes without numbers", {0, 1500}, {"cc", "ss"},
		{"2/2 processes asked in 0.0 s", "2/2 processes asked in 0.0 s, 2 saving"},
			.unnumbered = true},
};
// clang-format on

static void observe(struct checkpoint_request *request, size_t index, char letter, int64_t now_ms)
{
	struct process_sample sample = {
		.cpu_ticks = letter == COMPUTING || letter == PENDING ? (uint64_t)now_ms + 1 : 0,
		.switches = letter == STEPPING ? (uint64_t)now_ms + 1 : 0,
		.state = letter == STOPPED     ? 'T'
			 : letter == IN_KERNEL ? 'D'
					       : 'S',
		.pending = letter == PENDING ? process_signal_bit(SIGUSR1) : 0,
	};

	rank_progress_observe(&request->asked[index], letter == GONE ? NULL : &sample,
			      letter == SAVING, letter == WRITER, now_ms);
}

static void add_asked(struct checkpoint_request *request, const struct scene *scene,
		      const char *ranks, int64_t now_ms)
{
	for (size_t i = request->asked_count; ranks[i] && ranks[i] != NOT_ASKED; i++) {
		struct rank rank = {
			.pid = 100 + (pid_t)i,
			.number = scene->unnumbered ? PROCESS_NO_RANK : (int64_t)i,
		};

		rank_progress_add(request, &rank, 1,
				  scene->expected ? scene->expected : strlen(scene->ranks[0]),
				  now_ms);
	}
}

static void play(const struct scene *scene)
{
	struct checkpoint_request request = {.signal = SIGUSR1,
					     .patience_ms = PATIENCE,
					     .sent_ms = 1000};
	char line[RANK_PROGRESS_LINE_SIZE];

	print_message("%s\n", scene->name);
	for (size_t step = 0; step < 6 && scene->ranks[step]; step++) {
		int64_t now_ms = 1000 + scene->at_ms[step];
		bool said;

		add_asked(&request, scene, scene->ranks[step], now_ms);
		for (size_t i = 0; i < request.asked_count; i++)
			observe(&request, i, scene->ranks[step][i], now_ms);
		said = rank_progress_report(&request, now_ms, line);
		if (scene->lines[step]) {
			assert_true(said);
			assert_string_equal(line, scene->lines[step]);
		} else {
			assert_false(said);
		}
	}
	checkpoint_request_release(&request);
}

static void plays_all_scenes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++)
		play(&scenes[i]);
}

/* --- the processes --- */

/* Ranks that were asked are looked at as the processes that they are. */

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
	struct checkpoint_request watch = {.loop = &loop,
					   .signal = SIGUSR1,
					   .patience_ms = 5000,
					   .news = on_news,
					   .arg = &news};
	pid_t pids[2] = {start_rank(&ranks[0]), start_rank(&ranks[1])};
	struct err err;

	(void)state;
	log_set_level(LOG_LEVEL_QUIET);
	assert_int_equal(loop_init(&loop, &err), 0);
	/* Another process has the number of the second by now. */
	ranks[1].start_time++;
	rank_progress_follow(&watch, ranks, 2, 2);
	assert_int_equal(news.count, 1);
	assert_non_null(strstr(news.line, "2/2 ranks asked"));
	assert_true(watch.watch_timer.armed);
	watch.watch_timer.fired(&watch.watch_timer);
	assert_false(watch.asked[0].gone);
	assert_true(watch.asked[1].gone);
	end_rank(pids[0]);
	checkpoint_request_stop(&watch);
	assert_true(watch.asked[0].gone);
	assert_false(watch.watch_timer.armed);
	end_rank(pids[1]);
	checkpoint_request_release(&watch);
	loop_release(&loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plays_all_scenes),
		cmocka_unit_test(test_a_rank_that_ends_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
