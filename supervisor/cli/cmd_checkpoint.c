/* reprieve checkpoint: asks a running supervisor for a checkpoint, and
 * waits until it is durable. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "control/control.h"
#include "options/options.h"
#include "scheduler/scheduler.h"
#include "status_text.h"
#include "verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct checkpoint_options {
	const char *job;
	pid_t pid; /* 0: any */
	struct checkpoint_client client;
};

// clang-format off
static const struct option_row own_rows[] = {
	{"pid", 0, "PID", NULL,
		"the same, by either pid that `reprieve status` shows: the job's, or its "
		"supervisor's",
		OPTION_NUMBER(struct checkpoint_options, pid), .least = 1, .most = INT32_MAX},
	{0},
};

static const struct option_row request_rows[] = {
	{"timeout", 0, "DURATION", NULL,
		"give up after this long (the checkpoint goes on); default: 10m",
		OPTION_DURATION(struct checkpoint_options, client.timeout_ms)},
	{"no-wait", 0, NULL, NULL, "return once the job has been asked",
		OPTION_FLAG(struct checkpoint_options, client.no_wait)},
	{0},
};

const struct verb verb_checkpoint = {
	.name = "checkpoint",
	.summary = "ask a running job for a checkpoint, and wait until it is durable",
	.examples = "reprieve checkpoint\n"
		"reprieve checkpoint --job train-7 --timeout 10m",
	.groups = (const struct option_group[]){
		OPTION_GROUP("Job", running_job_rows, offsetof(struct checkpoint_options, job)),
		OPTION_GROUP(NULL, own_rows, 0),
		OPTION_GROUP("Request", request_rows, 0),
		OPTION_GROUP("Other", json_rows, offsetof(struct checkpoint_options, client.json)),
		{0},
	},
	.exits = (const struct help_row[]){
		{"0", "durable; with --no-wait: asked"},
		{"1", "not durable"},
		{"69", "no such job is running here"},
		{0},
	},
};
// clang-format on

/* The directory of the live session that is meant; NULL with a sentence and an exit code in
 * `*code`. The caller frees. */
static char *find_session(const struct checkpoint_options *options, int *code, struct err *err)
{
	auto_(session_list_release) struct session_list sessions = {0};
	auto_free char *found = NULL, *names = text_copy("");
	size_t count = 0;

	session_find(&sessions, false, options->job);
	for (size_t i = 0; i < sessions.count; i++) {
		const struct session_info *info = &sessions.items[i];

		if (options->pid && options->pid != info->pid && options->pid != info->job_pid)
			continue;
		text_append(&names, "%s%s (pid %d)", count++ ? ", " : "", info->job,
			    (int)info->pid);
		free(found);
		found = text_copy(info->directory);
	}
	if (count == 1)
		return steal(&found);
	*code = count > 1 ? EXIT_USAGE : EXIT_UNAVAILABLE;
	if (count > 1)
		err_set(err, ERR_INVALID,
			"several jobs are running: %s; choose with --job or --pid", names);
	else
		err_set(err, ERR_NOT_FOUND, "no %s running under this user here",
			options->job || options->pid ? "such job is" : "`reprieve run` is");
	return NULL;
}

/* --- the request --- */

struct request_result {
	const struct checkpoint_client *client;
	bool settled, failed;
	bool asked, saved; /* what is still under way when the time is over */
};

static void print_reply(void *arg, json_t *reply)
{
	struct request_result *request_result = arg;
	const struct checkpoint_client *client = request_result->client;
	const char *event = json_text_or(reply, "event", "");
	size_t pids = json_array_size(json_object_get(reply, "pids"));

	if (client->json)
		json_print(json_incref(reply), false);
	if (text_equal(event, "failed")) {
		request_result->settled = request_result->failed = true;
		if (!client->json)
			log_error("no checkpoint: %s",
				  json_text_or(reply, "error", "no reason given"));
	} else if (text_equal(event, "durable")) {
		request_result->settled = true;
		if (!client->json)
			json_say("saved: [{id}|?], {bytes:bytes}[, step {step}], durable[ in "
				 "{seconds:time}]",
				 reply);
	} else if (text_equal(event, "asked")) {
		request_result->settled = client->no_wait;
		request_result->asked |= pids > 0;
		json_object_set_new(reply, "count", json_integer((json_int_t)pids));
		if (!client->json && !json_true_or(reply, "again", false))
			json_say("asked[ pid{count:s} {pids}]", reply);
	} else if (text_equal(event, "saved")) {
		request_result->saved = true;
	} else if (text_equal(event, "rank_progress") && !client->json) {
		json_say("{text}", reply);
	}
	fflush(stdout);
}

/* The request stands: what it waits for now. */
static int set_timeout_error(const struct request_result *result, struct err *err)
{
	char time[32];

	return err_set(err, ERR_CANCELLED, "not durable after %s (--timeout); %s",
		       text_duration(result->client->timeout_ms, time, sizeof(time)),
		       result->saved   ? "the job has saved, and the upload goes on"
		       : result->asked ? "the job was asked and has not finished saving: it goes on"
				       : "the job is asked when the save under way has ended");
}

static int request_checkpoint(const struct checkpoint_client *client, struct err *err)
{
	auto_free char *path = text_format("%s/%s", client->session, SESSION_CONTROL);
	auto_json json_t *request =
		json_pack("{s:s, s:b}", "do", "checkpoint", "wait", !client->no_wait);
	struct request_result request_result = {.client = client};
	int result = control_socket_call(path, request, print_reply, &request_result,
					 clock_monotonic_ms() + client->timeout_ms, err);

	if (result < 0 && err->kind == ERR_CANCELLED)
		return set_timeout_error(&request_result, err);
	if (result < 0)
		return -1;
	if (!request_result.settled)
		return err_set(err, ERR_FAILED, "the supervisor went away before it was done");
	return request_result.failed ? 1 : 0;
}

int checkpoint_client_run(const struct checkpoint_client *client)
{
	struct err err;
	int code = request_checkpoint(client, &err);

	if (code >= 0)
		return code;
	log_error("checkpoint: %s", err.text);
	return err.kind == ERR_NOT_FOUND ? EXIT_UNAVAILABLE : EXIT_FAILURE;
}

int cmd_checkpoint(int argc, char **argv)
{
	struct checkpoint_options options = {.client.timeout_ms = CHECKPOINT_TIMEOUT_MS};
	struct err err;
	int code = option_table_parse(&verb_checkpoint, argc, argv, &options, NULL);

	if (code >= 0)
		return code;
	auto_free char *directory = find_session(&options, &code, &err);
	if (!directory) {
		log_error("checkpoint: %s", err.text);
		return code;
	}
	options.client.session = directory;
	return checkpoint_client_run(&options.client);
}
