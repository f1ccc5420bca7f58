#include "status_watch.h"

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "base/workers.h"
#include "gang_members_look.h"
#include "status_query.h"
#include "status_text.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LOOK_EVERY_MS 1000
#define ENDING_MS 50

/* One supervisor, from when it was first seen. A thread waits for its last word. */
struct watched_run {
	struct watched_run *next;
	struct status_watch *watch;
	char *directory, *job;
	int fd; /* it was asked how it ends, before anything else */
	pthread_t thread;
	bool has_thread;
	json_t *ended; /* its last word; NULL: none came */
	bool is_older; /* its supervisor does not know the question */
	atomic_bool over;
	bool told;    /* how it has ended was printed */
	char *change; /* the last line about it, in a pipe */
};

struct status_watch {
	struct status_query query;
	bool json;
	bool draws; /* on a terminal, each look over the last one */
	bool drawn;
	struct bytes ends; /* what was drawn of those that have ended */
	struct watched_run *runs;
	struct cancel cancel;
	pthread_mutex_t mutex;
	pthread_cond_t ended;
	json_t *answers; /* of this look */
	int code;
};

/* --- how they end --- */

static void keep_last_word(void *arg, json_t *reply)
{
	struct watched_run *run = arg;

	if (text_equal(json_text_or(reply, "event", ""), "ended"))
		run->ended = json_incref(reply);
	if (text_equal(json_text_or(reply, "event", ""), "failed"))
		run->is_older = true;
}

static void *await_end(void *arg)
{
	struct watched_run *run = arg;
	struct status_watch *watch = run->watch;
	struct err err;

	control_socket_await(run->fd, keep_last_word, run, &watch->cancel, &err);
	while (!run->ended && session_is_alive(run->directory) &&
	       cancel_sleep(&watch->cancel, ENDING_MS, &err) == 0) {
	}
	pthread_mutex_lock(&watch->mutex);
	atomic_store(&run->over, true);
	pthread_cond_signal(&watch->ended);
	pthread_mutex_unlock(&watch->mutex);
	return NULL;
}

static struct watched_run *find_run(const struct status_watch *watch, const char *directory)
{
	struct watched_run *run = watch->runs;

	while (run && !text_equal(run->directory, directory))
		run = run->next;
	return run;
}

/* Connected first: what has answered any question since then tells us how it ends. NULL: it has
 * just ended, and was never seen. */
static struct watched_run *find_or_add_run(struct status_watch *watch,
					   const struct session_info *info)
{
	struct watched_run *run = find_run(watch, info->directory);
	auto_free char *path = text_format("%s/%s", info->directory, SESSION_CONTROL);
	auto_json json_t *request = json_pack("{s:s}", "do", "outcome");
	struct err err;
	int fd;

	if (run)
		return run;
	fd = control_socket_ask(path, request, &watch->cancel, &err);
	if (fd < 0)
		return NULL;
	run = memory_new(sizeof(*run));
	run->watch = watch;
	run->fd = fd;
	run->directory = text_copy(info->directory);
	run->job = text_copy(info->job);
	run->next = watch->runs;
	watch->runs = run;
	run->has_thread = parallel_start(&run->thread, await_end, run) == 0;
	return run;
}

static bool is_over(void *arg, const struct session_info *info)
{
	struct watched_run *run = find_or_add_run(arg, info);

	return run && atomic_load(&run->over);
}

static char *end_text(const struct watched_run *run)
{
	auto_free char *text = NULL;

	if (run->ended)
		return status_text_end(run->ended);
	text = text_format("%s has ended: %s", run->job,
			   run->is_older
				   ? "its supervisor is of an older version and did not say how"
				   : "its supervisor was killed, or the machine stopped it");
	text_to_printable(text);
	return steal(&text);
}

/* --- what is shown --- */

static void print_stamped(const char *text)
{
	char now[32];

	clock_format(clock_wall_ms(), now, sizeof(now));
	printf("%.19sZ %s\n", now, text);
}

static void print_ends(struct status_watch *watch)
{
	for (struct watched_run *run = watch->runs; run; run = run->next) {
		auto_free char *text = NULL;
		int code;

		if (!atomic_load(&run->over) || run->told)
			continue;
		run->told = true;
		text = end_text(run);
		code = run->ended ? (int)json_number_or(run->ended, "exit_code", 0) : EXIT_FAILURE;
		if (watch->code == 0)
			watch->code = code;
		if (watch->json && run->ended)
			json_print(json_pack("{s:[O]}", "ended", run->ended), false);
		else if (watch->draws)
			bytes_format(&watch->ends, NULL, "%s\n", text);
		else if (!watch->json)
			print_stamped(text);
	}
}

static void take_answer(void *arg, const struct session_info *info, json_t *answer)
{
	struct status_watch *watch = arg;
	struct watched_run *run = find_run(watch, info->directory);
	auto_free char *change = NULL;

	json_array_append(watch->answers, answer);
	if (!run || watch->json || watch->draws)
		return;
	change = status_text_change(answer);
	if (text_equal(change, run->change))
		return;
	print_stamped(change);
	free(run->change);
	run->change = steal(&change);
}

static bool may_draw(void)
{
	const char *terminal = text_from_environment("TERM");

	return terminal && !text_equal(terminal, "dumb") && isatty(STDOUT_FILENO);
}

/* In one write, from the top of the screen on and no longer than it, so that whoever ends us leaves
 * the cursor below it. */
static void draw_text(struct status_watch *watch, char *text)
{
	auto_(bytes_release) struct bytes output = {0};
	struct winsize size = {0};
	size_t rows = 0;
	char *line;

	(void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	bytes_format(&output, NULL, "\x1b[H%s", watch->drawn ? "" : "\x1b[2J");
	watch->drawn = true;
	while ((line = strsep(&text, "\n")) && text) {
		rows += 1 + (size.ws_col ? strlen(line) / size.ws_col : 0);
		if (size.ws_row && rows >= size.ws_row)
			break;
		bytes_format(&output, NULL, "%s\x1b[K\n", line);
	}
	bytes_format(&output, NULL, "\x1b[J");
	fwrite(output.data, 1, output.size, stdout);
}

static void draw_answers(struct status_watch *watch)
{
	auto_(bytes_release) struct bytes text = {0};
	json_t *answer;
	size_t i;

	bytes_append(&text, watch->ends.size ? (const char *)watch->ends.data : "",
		     watch->ends.size, NULL);
	json_array_foreach(watch->answers, i, answer) status_text_append(&text, answer);
	if (i > 0)
		bytes_format(&text, NULL, "(Ctrl-C ends this view, and no job)\n");
	bytes_append(&text, "", 1, NULL);
	draw_text(watch, (char *)text.data);
}

static void look_once(struct status_watch *watch)
{
	auto_json json_t *answers = json_array();
	json_t *answer;
	size_t i;

	watch->answers = answers;
	status_query_run(&watch->query);
	print_ends(watch);
	json_array_foreach(answers, i, answer) gang_members_look(answer, answers);
	if (watch->draws)
		draw_answers(watch);
	else if (watch->json && watch->query.found > 0)
		json_print(json_pack("{s:O}", "jobs", answers), false);
	fflush(stdout);
}

/* --- the watch --- */

/* Until the next look is due, or a job has ended. */
static void wait_for_end(struct status_watch *watch)
{
	int64_t until_ms = clock_monotonic_ms() + LOOK_EVERY_MS, left_ms;
	bool news = false;

	pthread_mutex_lock(&watch->mutex);
	while (!news && (left_ms = clock_left_ms(until_ms)) > 0) {
		for (struct watched_run *run = watch->runs; run; run = run->next)
			news |= atomic_load(&run->over) && !run->told;
		if (!news)
			condition_wait(&watch->ended, &watch->mutex, left_ms);
	}
	pthread_mutex_unlock(&watch->mutex);
}

static bool any_awaited(const struct status_watch *watch)
{
	for (struct watched_run *run = watch->runs; run; run = run->next)
		if (run->has_thread && !run->told)
			return true;
	return false;
}

static void end_watch(struct status_watch *watch)
{
	cancel_raise(&watch->cancel);
	while (watch->runs) {
		struct watched_run *run = watch->runs;

		watch->runs = run->next;
		if (run->has_thread)
			pthread_join(run->thread, NULL);
		close(run->fd);
		json_decref(run->ended);
		free(run->directory);
		free(run->job);
		free(run->change);
		free(run);
	}
	bytes_release(&watch->ends);
	cancel_release(&watch->cancel);
}

int status_watch_run(const char *job, bool checkpoints, bool json)
{
	struct status_watch watch = {
		.query = {.job = job,
			  .checkpoints = checkpoints,
			  .is_over = is_over,
			  .says_once = true},
		.json = json,
		.mutex = PTHREAD_MUTEX_INITIALIZER,
	};
	struct err err;

	if (cancel_init(&watch.cancel, &err) < 0) {
		log_error("status: %s", err.text);
		return EXIT_FAILURE;
	}
	watch.query.answered = take_answer;
	watch.query.arg = &watch;
	condition_init(&watch.ended);
	watch.draws = !json && may_draw();
	do {
		look_once(&watch);
		if (watch.query.found > 0 || any_awaited(&watch))
			wait_for_end(&watch);
	} while (watch.query.found > 0 || any_awaited(&watch));
	fflush(stdout);
	end_watch(&watch);
	if (watch.code == 0 && watch.query.failed)
		return EXIT_FAILURE;
	return watch.code;
}
