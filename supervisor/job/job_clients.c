/* The clients of the control socket: `reprieve checkpoint` and `reprieve status`. */
#include "base/json.h"
#include "base/text.h"
#include "job.h"

void job_reply_to_client(const struct job_effect *effect, json_t *reply)
{
	control_request_reply(effect->client, json_incref(reply));
	if (effect->last)
		control_request_finish(effect->client);
}

void job_tell_clients(struct job *job, json_t *reply)
{
	const struct request_table *table = &job->model.requests;

	for (size_t i = 0; i < table->waiter_count; i++)
		if (request_table_phase(table, &table->waiters[i]) == REQUEST_ASKED)
			control_request_reply(table->waiters[i].client, json_incref(reply));
	json_decref(reply);
}

void job_refuse_client(const struct job_effect *effect)
{
	static const char *const reasons[] = {
		[REFUSED_SUPERSEDED] =
			"superseded by a newer attempt: this one uploads no more checkpoints",
		[REFUSED_NOT_STARTED] = "the job has not started yet",
		[REFUSED_BEING_STOPPED] = "the job is being stopped or has ended: what it saves "
					  "last is made durable without a request",
		[REFUSED_ENDS_WHEN_ASKED] =
			"this job saves and exits when it is asked, so it is asked only at a stop "
			"notice",
		[REFUSED_CANNOT_ASK] = "this job cannot be asked, or not yet: start it with "
				       "--checkpoint-signal or --checkpoint-command",
	};

	control_request_answer(effect->client, control_failure(reasons[effect->refusal]));
}

static void reply_with_status(struct job *job, struct control_request *request, json_t *message)
{
	(void)message;
	control_request_answer(request, job_status_json(job));
}

static void reply_with_checkpoints(struct job *job, struct control_request *request,
				   json_t *message)
{
	json_t *reply = job_status_json(job);

	(void)message;
	json_object_set_new(reply, "checkpoints",
			    job->tracker ? tracker_checkpoints_json(job->tracker) : json_array());
	control_request_answer(request, reply);
}

static void request_checkpoint(struct job *job, struct control_request *request, json_t *message)
{
	bool until_asked = !json_true_or(message, "wait", true);

	job_post_with(job,
		      (struct job_event){.kind = JOB_EV_CLIENT,
					 .client = request,
					 .until_asked = until_asked},
		      NULL, json_pack("{s:s, s:[]}", "event", "asked", "pids"));
}

static void await_outcome(struct job *job, struct control_request *request, json_t *message)
{
	(void)job, (void)message;
	control_request_hold(request);
}

void job_tell_outcome(struct job *job, const struct outcome *outcome, bool last)
{
	struct run_facts run = job_facts(job, LOOK_AT_MODEL);
	char durable[RESUME_POINT_TEXT];

	control_socket_hear(job->control, last);
	control_socket_answer_held(job->control,
				   json_pack("{s:s, s:s, s:s, s:i, s:s}", "event", "ended", "job",
					     job->name.text, "outcome", outcome_name(outcome),
					     "exit_code", outcome->exit_code, "durable",
					     run_facts_resume_point(&run, durable)));
}

/* What a client may ask for. */
static const struct {
	const char *name;
	void (*handle)(struct job *job, struct control_request *request, json_t *message);
} verbs[] = {
	{"status", reply_with_status},
	{"checkpoints", reply_with_checkpoints},
	{"checkpoint", request_checkpoint},
	{"outcome", await_outcome},
};

static void handle_client_request(void *arg, struct control_request *request, json_t *message)
{
	struct job *job = arg;
	const char *what = json_string_value(json_object_get(message, "do"));

	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (text_equal(what, verbs[i].name)) {
			verbs[i].handle(job, request, message);
			return;
		}
	}
	control_request_answer(request, control_failure("unknown request"));
}

static void remove_client(void *arg, struct control_request *request)
{
	job_forget_client(arg, request);
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
		report_our_failure(&job->reports, "`reprieve checkpoint` cannot reach this job",
				   &err);
}
