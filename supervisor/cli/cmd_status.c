/* reprieve status: what the jobs that run here under this user are doing, and what of their work is
 * durable. With --watch, each second until they have ended: a terminal shows one picture, which is
 * drawn over; a pipe gets one line for each change; as JSON, each look is a line. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "control/control.h"
#include "options/options.h"
#include "scheduler/scheduler.h"
#include "status_text.h"
#include "storage/storage.h"
#include "verbs.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STATUS_TIMEOUT_MS 5000
#define GANG_LOOK_MS 5000
#define ENDING_MS 1000 /* from the last word of a supervisor to its end */
#define LOOK_EVERY_MS 1000

/* --watch: one supervisor, from when it was first seen. */
struct watched_run {
	struct watched_run *next;
	char *directory, *job;
	int fd;        /* it was asked how it ends, before anything else; -1: it has closed that */
	json_t *ended; /* its last word; NULL: none came */
	bool over;     /* and printed */
	char *change;  /* the last line about it, in a pipe */
};

struct status_run {
	const char *job; /* NULL: all */
	bool json, watch, checkpoints;
	size_t found;    /* that are there, whether they answer or not */
	bool failed;     /* one of them does not answer, which is logged */
	json_t *answers; /* of this look */
	struct watched_run *runs;
	bool draws;        /* on a terminal, each look over the last one */
	struct bytes ends; /* what was drawn of those that have ended */
	int code;
};

// clang-format off
static const struct option_row own_rows[] = {
	{"checkpoints", 0, NULL, NULL,
		"also each checkpoint that the job has written: its verdict, why, what is missing",
		OPTION_FLAG(struct status_run, checkpoints)},
	{"watch", 0, NULL, NULL,
		"look each second until the job has ended: a live view; in a pipe, its changes",
		OPTION_FLAG(struct status_run, watch)},
	{0},
};

const struct verb verb_status = {
	.name = "status",
	.summary = "see what the jobs that run here are doing, and what is durable",
	.examples = "reprieve status\n"
		"reprieve status --checkpoints\n"
		"reprieve status --job train-7 --json\n"
		"reprieve status --watch",
	.groups = (const struct option_group[]){
		OPTION_GROUP("Job", running_job_rows, offsetof(struct status_run, job)),
		OPTION_GROUP("Other", own_rows, 0),
		OPTION_GROUP(NULL, json_rows, offsetof(struct status_run, json)),
		{0},
	},
	.exits = (const struct help_row[]){
		{"0", "every supervisor has answered; with --watch: every job has ended with 0"},
		{"1", "a supervisor does not answer; with --watch: one was killed"},
		{"69", "no such job runs here under this user"},
		{"else", "with --watch: the exit status of `reprieve run`, of the first job that did not end "
			"with 0"},
		{0},
	},
};
// clang-format on

/* --- the supervisors of this machine --- */

/* One that ends while it is asked is none of those that run here. */
static bool has_just_ended(const char *directory)
{
	int64_t until = clock_monotonic_ms() + ENDING_MS;

	while (session_is_alive(directory)) {
		if (clock_left_ms(until) <= 0)
			return false;
		usleep(10000);
	}
	return true;
}

static struct watched_run *find_run(const struct status_run *status_run, const char *directory)
{
	struct watched_run *run = status_run->runs;

	while (run && !text_equal(run->directory, directory))
		run = run->next;
	return run;
}

/* Connected first: what has answered any question since then tells us how it ends. */
static void add_run(struct status_run *status_run, const struct session_info *info)
{
	auto_free char *path = text_format("%s/%s", info->directory, SESSION_CONTROL);
	auto_json json_t *request = json_pack("{s:s}", "do", "outcome");
	struct watched_run *run;
	struct err err;
	int fd = control_socket_ask(path, request, clock_monotonic_ms() + STATUS_TIMEOUT_MS, &err);

	if (fd < 0)
		return;
	run = memory_new(sizeof(*run));
	*run = (struct watched_run){status_run->runs, text_copy(info->directory),
				    text_copy(info->job), .fd = fd};
	status_run->runs = run;
}

static void print_stamped(const char *text)
{
	char now[32];

	clock_format(clock_wall_ms(), now, sizeof(now));
	printf("%.19sZ %s\n", now, text);
}

/* `run` NULL: it was not reached when it was first seen. */
static void print_change(struct watched_run *run, json_t *answer)
{
	auto_free char *change = status_text_change(answer);

	if (!run || text_equal(change, run->change))
		return;
	print_stamped(change);
	free(run->change);
	run->change = steal(&change);
}

static void ask_session(struct status_run *status_run, const struct session_info *info)
{
	auto_json json_t *answer = NULL;
	struct err err;

	if (status_run->watch) {
		struct watched_run *run = find_run(status_run, info->directory);

		if (run && run->over)
			return;
		if (!run)
			add_run(status_run, info);
	}
	if (control_client_query(info->directory,
				 status_run->checkpoints ? "checkpoints" : "status",
				 STATUS_TIMEOUT_MS, &answer, &err) == 0) {
		json_array_append(status_run->answers, answer);
		if (status_run->watch && !status_run->json && !status_run->draws)
			print_change(find_run(status_run, info->directory), answer);
	} else if (has_just_ended(info->directory)) {
		return;
	} else {
		if (!status_run->failed || !status_run->watch)
			log_error("status: %s (pid %d): %s", info->job, (int)info->pid, err.text);
		status_run->failed = true;
	}
	status_run->found++;
}

/* --- the other machines of a gang --- */

static int list_given(json_t *answer, struct snapshot_id id, uint32_t members, bool *given,
		      struct err *err)
{
	struct storage_options options = {
		.url = json_text_or(answer, "store", ""),
		.job = json_text_or(answer, "job", ""),
		.read_only = true,
	};
	auto_(cancel_release) struct cancel cancel = {0};
	struct storage *storage = NULL;
	int status;

	if (cancel_init(&cancel, err) < 0)
		return -1;
	cancel_set_deadline(&cancel, clock_monotonic_ms() + GANG_LOOK_MS);
	status = storage_open(&options, &storage, &cancel, err);
	if (status == 0)
		status = storage_gang_given(storage, id.attempt, id.sequence, members, given,
					    &cancel, err);
	storage_close(storage);
	return status;
}

/* Who has given a part in a gang's open round: only the store knows it of all. Adds "given" and
 * "missing"; or, if the store does not say so within some seconds, "unknown": why. */
static void add_parts(json_t *answer)
{
	json_t *gang = json_object_get(answer, "gang");
	json_t *round = json_object_get(gang, "round");
	int64_t members = json_number_or(gang, "members", 0);
	auto_free bool *given = NULL;
	struct snapshot_id id;
	struct err err = {0};
	json_t *lists[2];

	if (!text_equal(json_text_or(round, "state", ""), "open") || members < 1 ||
	    members > STORAGE_GANG_MOST || !snapshot_id_parse(json_text_or(round, "id", ""), &id))
		return;
	given = memory_new((size_t)members * sizeof(*given));
	if (list_given(answer, id, (uint32_t)members, given, &err) < 0) {
		json_object_set_new(round, "unknown", json_string(err.text));
		return;
	}
	lists[0] = json_array();
	lists[1] = json_array();
	/* Who had gone before the round gives none. */
	for (int64_t i = 0; i < members; i++)
		if (!json_has_number(json_object_get(round, "without"), i))
			json_array_append_new(lists[!given[i]], json_integer(i));
	json_object_set_new(round, "given", lists[0]);
	json_object_set_new(round, "missing", lists[1]);
}

/* --- once --- */

static void append_answers(const struct status_run *status_run, struct bytes *text)
{
	json_t *answer;
	size_t i;

	json_array_foreach(status_run->answers, i, answer) status_text_append(text, answer);
}

static void print_answers(const struct status_run *status_run)
{
	auto_(bytes_release) struct bytes text = {0};
	json_t *answer;
	size_t i;

	json_array_foreach(status_run->answers, i, answer) add_parts(answer);
	append_answers(status_run, &text);
	if (status_run->json)
		json_print(json_pack("{s:O}", "jobs", status_run->answers), true);
	else if (text.size > 0)
		fwrite(text.data, 1, text.size, stdout);
}

/* --- until they have ended --- */

static void note_end(struct status_run *status_run, struct watched_run *run)
{
	auto_json json_t *killed = json_pack("{s:s}", "job", run->job);
	auto_free char *text =
		run->ended ? status_text_end(run->ended)
			   : json_fill("{job} has ended: its supervisor was killed, or the machine "
				       "stopped it",
				       killed);

	run->over = true;
	if (status_run->code == 0)
		status_run->code =
			run->ended ? (int)json_number_or(run->ended, "exit_code", 0) : EXIT_FAILURE;
	if (status_run->json && run->ended)
		json_print(json_pack("{s:[O]}", "ended", run->ended), false);
	else if (status_run->draws)
		bytes_format(&status_run->ends, NULL, "%s\n", text);
	else if (!status_run->json)
		print_stamped(text);
}

static void keep_last_word(void *arg, json_t *reply)
{
	struct watched_run *run = arg;

	if (text_equal(json_text_or(reply, "event", ""), "ended"))
		run->ended = json_incref(reply);
}

/* It is about to close, and has said by then what it says. */
static void hear_end(struct watched_run *run)
{
	struct err err;

	control_socket_await(run->fd, keep_last_word, run, clock_monotonic_ms() + STATUS_TIMEOUT_MS,
			     &err);
	close(run->fd);
	run->fd = -1;
}

/* Until the next look is due, or a supervisor has said how its job has ended. False: all have. */
static bool await_end(struct status_run *status_run)
{
	struct pollfd *fds = NULL;
	size_t count = 0, i = 0;
	bool any = status_run->found > 0;

	for (struct watched_run *run = status_run->runs; run; run = run->next) {
		fds = memory_grow(fds, count + 1, sizeof(*fds));
		fds[count++] = (struct pollfd){.fd = run->fd, .events = POLLIN};
		any |= !run->over;
	}
	if (any)
		poll(fds, count, LOOK_EVERY_MS);
	for (struct watched_run *run = status_run->runs; run && any; run = run->next, i++) {
		if (fds[i].revents)
			hear_end(run);
		if (!run->over && (run->ended || !session_is_alive(run->directory)))
			note_end(status_run, run);
	}
	free(fds);
	return any;
}

/* In one write, from the top of the screen on, so that whoever ends us leaves the cursor below it.
 */
static void draw(const struct status_run *status_run)
{
	auto_(bytes_release) struct bytes text = {0};

	bytes_format(&text, NULL, "\x1b[H\x1b[J%.*s", (int)status_run->ends.size,
		     status_run->ends.data ? (const char *)status_run->ends.data : "");
	append_answers(status_run, &text);
	if (json_array_size(status_run->answers) > 0)
		bytes_format(&text, NULL, "(Ctrl-C ends this view, and no job)\n");
	fwrite(text.data, 1, text.size, stdout);
}

static bool may_draw(void)
{
	const char *terminal = text_from_environment("TERM");

	return terminal && !text_equal(terminal, "dumb") && isatty(STDOUT_FILENO);
}

static void look(struct status_run *status_run)
{
	auto_(session_list_release) struct session_list sessions = {0};

	json_array_clear(status_run->answers);
	status_run->found = 0;
	session_find(&sessions, false, status_run->job);
	for (size_t i = 0; i < sessions.count; i++)
		ask_session(status_run, &sessions.items[i]);
}

static void show(struct status_run *status_run)
{
	if (status_run->draws)
		draw(status_run);
	else if (status_run->json && status_run->found > 0)
		json_print(json_pack("{s:O}", "jobs", status_run->answers), false);
	fflush(stdout);
}

static void status_run_release(struct status_run *status_run)
{
	json_decref(status_run->answers);
	bytes_release(&status_run->ends);
	while (status_run->runs) {
		struct watched_run *run = status_run->runs;

		status_run->runs = run->next;
		if (run->fd >= 0)
			close(run->fd);
		json_decref(run->ended);
		free(run->directory);
		free(run->job);
		free(run->change);
		free(run);
	}
}

AUTO(struct status_run, status_run_release);

int cmd_status(int argc, char **argv)
{
	auto_(status_run_release) struct status_run status_run = {.answers = json_array()};
	int code = option_table_parse(&verb_status, argc, argv, &status_run, NULL);

	if (code >= 0)
		return code;
	status_run.draws = status_run.watch && !status_run.json && may_draw();
	look(&status_run);
	if (status_run.found == 0) {
		log_error("status: no %s running under this user here",
			  status_run.job ? "such job is" : "`reprieve run` is");
		return EXIT_UNAVAILABLE;
	}
	if (!status_run.watch)
		print_answers(&status_run);
	else
		for (show(&status_run); await_end(&status_run); show(&status_run))
			look(&status_run);
	return status_run.code ? status_run.code : status_run.failed ? EXIT_FAILURE : 0;
}
