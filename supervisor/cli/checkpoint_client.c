#include "checkpoint_client.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/terminal_line.h"
#include "base/text.h"
#include "control/control.h"
#include "scheduler/scheduler.h"

#include <stdio.h>
#include <stdlib.h>

struct request_result {
	const struct checkpoint_client *client;
	bool settled, failed;
	bool asked, saved; /* what is still under way when the time is over */
};

static void print_durable(json_t *reply)
{
	json_t *seconds = json_object_get(reply, "seconds");
	char text[24];

	terminal_print("saved: %s, %s", json_text_or(reply, "id", "?"),
		       text_bytes((uint64_t)json_number_or(reply, "bytes", 0), text, sizeof(text)));
	if (json_number_or(reply, "step", -1) >= 0)
		printf(", step %lld", (long long)json_number_or(reply, "step", -1));
	printf(", durable");
	if (json_is_number(seconds))
		printf(" in %s",
		       text_duration(json_seconds_or(reply, "seconds", 0), text, sizeof(text)));
	putchar('\n');
}

static void print_requested(json_t *reply)
{
	size_t i;
	json_t *pid;

	printf("asked");
	json_array_foreach(json_object_get(reply, "pids"), i, pid)
		printf("%s %lld",
		       i                                                     ? ","
		       : json_array_size(json_object_get(reply, "pids")) > 1 ? " pids"
									     : " pid",
		       (long long)json_integer_value(pid));
	putchar('\n');
}

static void print_reply(void *arg, json_t *reply)
{
	struct request_result *request_result = arg;
	const struct checkpoint_client *client = request_result->client;
	const char *event = json_text_or(reply, "event", "");

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
			print_durable(reply);
	} else if (text_equal(event, "asked")) {
		request_result->settled = client->no_wait;
		request_result->asked |= json_array_size(json_object_get(reply, "pids")) > 0;
		if (!client->json && !json_true_or(reply, "again", false))
			print_requested(reply);
	} else if (text_equal(event, "saved")) {
		request_result->saved = true;
	} else if (text_equal(event, "rank_progress") && !client->json) {
		terminal_line_print("%s", json_text_or(reply, "text", ""));
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
	struct cancel cancel;
	int result;

	if (cancel_init(&cancel, err) < 0)
		return -1;
	cancel_set_deadline(&cancel, clock_monotonic_ms() + client->timeout_ms);
	result = control_socket_call(path, request, print_reply, &request_result, &cancel, err);
	cancel_release(&cancel);
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
