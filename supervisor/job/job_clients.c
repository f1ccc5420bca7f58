/* The clients of the control socket: `reprieve checkpoint` and `reprieve status`. */
#include "base/json.h"
#include "base/text.h"
#include "job.h"

json_t *job_failure_reply(const char *why)
{
	return json_pack("{s:s, s:s}", "event", "failed", "error", why);
}

void job_reply_to_client(const struct request_effect *effect, json_t *reply)
{
	control_request_reply(effect->client, json_incref(reply));
	if (effect->last)
		control_request_finish(effect->client);
}

void job_tell_clients(struct job *job, json_t *reply)
{
	const struct request_table *table = &job->requests;

	for (size_t i = 0; i < table->waiter_count; i++)
		if (request_table_phase(table, &table->waiters[i]) == REQUEST_ASKED)
			control_request_reply(table->waiters[i].client, json_incref(reply));
	json_decref(reply);
}

static void refuse_client(struct control_request *request, const char *why)
{
	control_request_reply(request, job_failure_reply(why));
	control_request_finish(request);
}

static void reply_with_checkpoints(struct job *job, struct control_request *request)
{
	json_t *reply = job_status_json(job);

	json_object_set_new(reply, "checkpoints",
			    job->tracker ? tracker_checkpoints_json(job->tracker) : json_array());
	control_request_reply(request, reply);
	control_request_finish(request);
}

static void handle_client_request(void *arg, struct control_request *request, json_t *message)
{
	struct job *job = arg;
	const char *what = json_string_value(json_object_get(message, "do"));

	if (text_equal(what, "status")) {
		control_request_reply(request, job_status_json(job));
		control_request_finish(request);
	} else if (text_equal(what, "checkpoints")) {
		reply_with_checkpoints(job, request);
	} else if (!text_equal(what, "checkpoint")) {
		refuse_client(request, "unknown request");
	} else if (job->superseded) {
		refuse_client(request, "superseded by a newer attempt: this one uploads no more "
				       "checkpoints");
	} else if (job->state != JOB_RUNNING) {
		refuse_client(request, "the job is not running");
	} else if (job_ends_when_asked(job)) {
		refuse_client(request, "this job saves and exits when it is asked, so it is asked "
				       "only at a stop notice");
	} else if (!job_can_request(job)) {
		refuse_client(request, "this job cannot be asked: start it with "
				       "--checkpoint-signal or --checkpoint-command");
	} else {
		job_make_request(job, SAVED_ON_REQUEST, request,
				 !json_true_or(message, "wait", true));
	}
}

static void remove_client(void *arg, struct control_request *request)
{
	job_step_requests(arg, (struct request_event){.kind = REQUEST_EV_GONE, .client = request},
			  NULL);
}

void job_open_control(struct job *job)
{
	struct control_handler handler = {
		.asked = handle_client_request,
		.gone = remove_client,
		.arg = job,
	};
	auto_free char *path = session_path(&job->session, SESSION_CONTROL);
	struct err err;

	if (path && control_socket_open(&job->loop, path, &handler, &job->control, &err) < 0)
		job_report_failure(job, "`reprieve checkpoint` cannot reach this job", &err);
}
