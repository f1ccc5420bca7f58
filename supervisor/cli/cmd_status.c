/* reprieve status: what the jobs that run here under this user are doing, and what of their work is
 * durable. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "base/terminal_line.h"
#include "gang_members_look.h"
#include "gang_parts_look.h"
#include "options/options.h"
#include "scheduler/scheduler.h"
#include "status_query.h"
#include "status_text.h"
#include "status_watch.h"
#include "verbs.h"

#include <stdio.h>
#include <string.h>

struct status_run {
	const char *job; /* NULL: all */
	bool json, watch, checkpoints;
	json_t *answers;
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

static const struct help_row exits[] = {
	{"0", "every supervisor has answered; with --watch: every job has ended with 0"},
	{"1", "a supervisor does not answer; with --watch: one was killed"},
	{"64", "wrong usage"},
	{"69", "no such job runs here under this user"},
	{"else", "with --watch: the exit status of `reprieve run`, of the first job that did not end "
		"with 0"},
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

static void keep_answer(void *arg, const struct session_info *info, json_t *answer)
{
	struct status_run *status_run = arg;

	(void)info;
	json_array_append(status_run->answers, answer);
}

static void print_answers(const struct status_run *status_run)
{
	auto_(bytes_release) struct bytes text = {0};
	char *rest, *line;
	json_t *answer;
	size_t i;

	json_array_foreach(status_run->answers, i, answer)
	{
		gang_parts_look(answer);
		gang_members_look(answer, status_run->answers);
	}
	if (status_run->json) {
		json_print(json_pack("{s:O}", "jobs", status_run->answers), true);
		return;
	}
	json_array_foreach(status_run->answers, i, answer) status_text_append(&text, answer);
	bytes_append(&text, "", 1, NULL);
	rest = (char *)text.data;
	while ((line = strsep(&rest, "\n")) && rest)
		puts(line);
}

static int refuse_absent(const struct status_run *status_run)
{
	log_error("status: no %s running under this user here",
		  status_run->job ? "such job is" : "`reprieve run` is");
	return EXIT_UNAVAILABLE;
}

static bool note_session(void *arg, const struct session_info *info)
{
	struct status_query *query = arg;

	query->found += !query->job || text_equal(query->job, info->job);
	return true;
}

int cmd_status(int argc, char **argv)
{
	auto_json json_t *answers = json_array();
	struct status_run status_run = {.answers = answers};
	int code = option_table_parse(&verb_status, argc, argv, &status_run, NULL);
	struct status_query query = {
		.job = status_run.job,
		.checkpoints = status_run.checkpoints,
		.answered = keep_answer,
		.arg = &status_run,
	};

	if (code >= 0)
		return code;
	if (status_run.watch)
		session_each(note_session, &query);
	else
		status_query_run(&query);
	if (query.found == 0)
		return refuse_absent(&status_run);
	if (status_run.watch)
		return status_watch_run(status_run.job, status_run.checkpoints, status_run.json);
	print_answers(&status_run);
	return query.failed ? EXIT_FAILURE : 0;
}
