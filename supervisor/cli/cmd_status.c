/* reprieve status: what the jobs that run here under this user are doing, and what
 * of their work is durable. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/terminal_line.h"
#include "base/text.h"
#include "control/control.h"
#include "options/options.h"
#include "scheduler/scheduler.h"
#include "verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STATUS_TIMEOUT_MS 5000
#define ENDING_MS 1000 /* from the last word of a supervisor to its end */

struct status_run {
	const char *job; /* NULL: all */
	bool json, watch, checkpoints;
	json_t *answers;
	size_t found;
	bool failed;
};

// clang-format off
static const struct option_row own_rows[] = {
	{"checkpoints", 0, NULL, NULL,
		"also each checkpoint that the job has written: its verdict, why, what is missing",
		OPTION_FLAG(struct status_run, checkpoints)},
	{"watch", 0, NULL, NULL, "again every second, until no such job runs any more",
		OPTION_FLAG(struct status_run, watch)},
	{0},
};

static const struct help_row exits[] = {
	{"0", "every supervisor has answered"},
	{"1", "a supervisor does not answer"},
	{"64", "wrong usage"},
	{"69", "no such job runs here under this user"},
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
	.exits = exits,
};
// clang-format on

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

static bool query_session(void *arg, const struct session_info *info)
{
	struct status_run *status_run = arg;
	const char *what = status_run->checkpoints ? "checkpoints" : "status";
	auto_json json_t *answer = NULL;
	struct err err;

	if (status_run->job && !text_equal(status_run->job, info->job))
		return true;
	if (control_client_query(info->directory, what, STATUS_TIMEOUT_MS, &answer, &err) == 0) {
		json_array_append(status_run->answers, answer);
	} else if (has_just_ended(info->directory)) {
		return true;
	} else {
		log_error("status: %s (pid %d): %s", info->job, (int)info->pid, err.text);
		status_run->failed = true;
	}
	status_run->found++;
	return true;
}

static const char *format_ago(json_t *answer, const char *name, char *buffer, size_t capacity)
{
	json_t *seconds = json_object_get(answer, name);
	char time[32];

	buffer[0] = '\0';
	if (json_is_number(seconds))
		snprintf(buffer, capacity, ", %s ago",
			 text_duration((int64_t)(json_number_value(seconds) * 1000), time,
				       sizeof(time)));
	return buffer;
}

static void print_recovery_point(json_t *answer, const char *what, const char *id,
				 const char *step_name, const char *age_name)
{
	int64_t step = json_number_or(answer, step_name, -1);
	char ago[48], step_text[40] = "";

	if (step >= 0)
		snprintf(step_text, sizeof(step_text), "%sstep %lld", id[0] ? ", " : "",
			 (long long)step);
	terminal_line_print("  %-9s %s%s%s", what, id, step_text,
			    format_ago(answer, age_name, ago, sizeof(ago)));
}

static void print_sources(json_t *answer)
{
	json_t *sources = json_object_get(answer, "sources"), *source;
	json_t *notice = json_object_get(answer, "notice");
	size_t i;

	if (json_is_object(notice))
		terminal_line_print("  %-9s %s from %s: %s; the end is at %s", "notice",
				    json_text_or(notice, "kind", ""),
				    json_text_or(notice, "source", ""),
				    json_text_or(notice, "reason", ""),
				    json_text_or(notice, "deadline", "?"));
	if (json_array_size(sources) == 0)
		printf("  %-9s SIGTERM alone\n", "notices");
	json_array_foreach(sources, i, source)
	{
		const char *why = json_text_or(source, "why", "");

		terminal_line_print("  %-9s %s: %s%s%s", "notices",
				    json_text_or(source, "name", "?"),
				    json_text_or(source, "health", "?"), why[0] ? ": " : "", why);
	}
}

static void print_training(json_t *training)
{
	double each = json_number_value(json_object_get(training, "step_seconds"));
	char ago[48], text[24];

	printf("  %-9s step %lld", "training", (long long)json_number_or(training, "step", -1));
	if (each > 0)
		printf(", %s each", text_duration((int64_t)(each * 1000), text, sizeof(text)));
	puts(format_ago(training, "seconds", ago, sizeof(ago)));
}

static void print_paths(const char *what, json_t *paths)
{
	json_t *path;
	size_t i;

	json_array_foreach(paths, i, path)
		terminal_line_print("    %-9s %s %s", "", what, json_string_value(path));
}

/* One line for each, as wide as the longest name; and below it what it lacks. */
static void print_checkpoints(json_t *checkpoints)
{
	json_t *checkpoint;
	int width = 0;
	size_t i;

	json_array_foreach(checkpoints, i, checkpoint)
	{
		int length = (int)strlen(json_text_or(checkpoint, "checkpoint", "?"));

		width = length > width ? length : width;
	}
	if (json_array_size(checkpoints) == 0)
		puts("  no checkpoint has been written yet");
	json_array_foreach(checkpoints, i, checkpoint)
	{
		long long missing = (long long)json_number_or(checkpoint, "missing", 0);
		long long files = (long long)json_number_or(checkpoint, "files", 0);

		terminal_line_print("  %-*s  %-9s  %3lld %s  %s", width,
				    json_text_or(checkpoint, "checkpoint", "?"),
				    json_text_or(checkpoint, "verdict", "?"), files,
				    files == 1 ? "file " : "files",
				    json_text_or(checkpoint, "why", ""));
		if (missing > 0)
			printf("    %-9s %lld of the files that earlier ones had: missing\n", "",
			       missing);
		print_paths("open:", json_object_get(checkpoint, "open"));
		print_paths("incomplete:", json_object_get(checkpoint, "incomplete"));
	}
}

static void print_answer(json_t *answer)
{
	const char *durable = json_text_or(answer, "durable", "");
	json_t *saving = json_object_get(answer, "saving");
	json_t *receipts = json_object_get(answer, "rank_progress");

	terminal_line_print("%s: %s, attempt %lld, pid %lld (supervisor %lld), store %s",
			    json_text_or(answer, "job", "?"), json_text_or(answer, "state", "?"),
			    (long long)json_number_or(answer, "attempt", 0),
			    (long long)json_number_or(answer, "pid", 0),
			    (long long)json_number_or(answer, "supervisor_pid", 0),
			    json_text_or(answer, "store", "none"));
	if (json_is_object(json_object_get(answer, "training")))
		print_training(json_object_get(answer, "training"));
	if (durable[0])
		print_recovery_point(answer, "durable", durable, "step", "durable_seconds");
	else
		printf("  %-9s nothing yet\n", "durable");
	if (json_is_true(json_object_get(answer, "waiting")))
		print_recovery_point(answer, "waiting", "a newer checkpoint", "newest_step",
				     "newest_seconds");
	if (json_is_true(json_object_get(receipts, "active")))
		terminal_line_print("  %-9s %s", "request", json_text_or(receipts, "text", ""));
	if (json_is_object(saving)) {
		char done[24], total[24];

		printf("  %-9s %s of %s\n", "sending",
		       text_bytes((uint64_t)json_number_or(saving, "bytes_done", 0), done,
				  sizeof(done)),
		       text_bytes((uint64_t)json_number_or(saving, "bytes_total", 0), total,
				  sizeof(total)));
	}
	if (json_text_or(answer, "loss", "")[0])
		terminal_line_print("  %-9s %s", "at risk", json_text_or(answer, "loss", ""));
	print_sources(answer);
	if (json_is_true(json_object_get(answer, "behind")))
		printf("  %-9s the upload has fallen behind\n", "warning");
	if (json_is_array(json_object_get(answer, "checkpoints")))
		print_checkpoints(json_object_get(answer, "checkpoints"));
}

static int print_status(struct status_run *status_run)
{
	auto_json json_t *answers = json_array();
	json_t *answer;
	size_t i;

	status_run->answers = answers;
	status_run->found = 0;
	session_each(query_session, status_run);
	/* A terminal shows one picture, a file gets one after the other. */
	if (status_run->watch && isatty(STDOUT_FILENO))
		printf("\033[H\033[J");
	if (status_run->found > 0 && status_run->json)
		json_print(json_pack("{s:O}", "jobs", answers), !status_run->watch);
	else
		json_array_foreach(answers, i, answer) print_answer(answer);
	fflush(stdout);
	return status_run->found > 0 ? 0 : EXIT_UNAVAILABLE;
}

int cmd_status(int argc, char **argv)
{
	struct status_run status_run = {0};
	int code = option_table_parse(&verb_status, argc, argv, &status_run, NULL);

	if (code >= 0)
		return code;
	if (print_status(&status_run) != 0) {
		log_error("status: no %s running under this user here",
			  status_run.job ? "such job is" : "`reprieve run` is");
		return EXIT_UNAVAILABLE;
	}
	while (status_run.watch) {
		sleep(1);
		if (print_status(&status_run) != 0)
			break;
	}
	return status_run.failed ? EXIT_FAILURE : 0;
}
