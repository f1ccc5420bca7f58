/* The clients of the control socket: `reprieve checkpoint` and `reprieve status`. */
#include "job.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"

/* --- job_report --- */

/* What the job tells of itself: as facts for supervisor/reporting/, and to telemetry/observers.c.
 */

struct run_facts job_facts(const struct job *job, enum run_look look)
{
	struct run_facts run = {
		.model = &job->model,
		.rules = &job->rules,
		.view = {.now_ms = clock_monotonic_ms(), .child_running = job->child.running},
		.job = job->name.text,
		.of_scheduler = job->name.of_scheduler,
		.stem = job->name.stem,
		.directory = job->workspace.directory,
		.store = job->store,
		.runtime = job->session.directory,
		.command = job->options->command,
		.attempt = job->resume.attempt.number,
		.pid = job->child.pid,
		.fresh = job->resume.kind == RESUME_FRESH,
		.restored = job->resume.kind == RESUME_RESTORED,
		.goes_back = job->options->restore != RESTORE_LATEST,
		.expected = job->expected != EXPECT_NOTHING,
		.ask_chosen = job->options->ask_chosen,
		.handler_unseen = job->profile.handler_unseen,
		.from = job->resume.from,
		.stop = notices_stop(&job->notices),
	};

	if (job->snapshots)
		run.durable = snapshot_queue_newest(job->snapshots);
	else
		run.durable = job->resume.from;
	if (look != LOOK_AT_MODEL)
		run.view = job_look(job, look == LOOK_AT_PROCESSES);
	return run;
}

static struct run_facts look_at_run(void *arg, enum run_look look)
{
	return job_facts(arg, look);
}

static json_t *job_status_json(const struct job *job, enum run_look look)
{
	struct progress_page *page = job->tracker ? tracker_page(job->tracker) : NULL;
	struct training_progress progress;
	bool trains = page && progress_page_read_progress(page, &progress);
	json_t *status = status_report(&job->reports, look, trains ? &progress : NULL);

	json_object_set(status, "counters", job->observers.counters);
	json_object_set(status, "labels", job->options->labels);
	json_object_set_new(status, "sources", notice_format_sources_json(job->watch));
	if (job->ranks.count > 0)
		json_object_set_new(status, "rank_progress", job_rank_progress_json(job));
	if (gang_feed_is_running(&job->in_gang.feed))
		json_object_set_new(status, "gang", gang_feed_status(&job->in_gang.feed));
	return status;
}

/* From within the log of events. */
static json_t *job_status_of_model(void *arg)
{
	return job_status_json(arg, LOOK_AT_MODEL);
}

int job_open_observers(struct job *job, struct err *err)
{
	const struct job_config *options = job->options;
	struct observed_job observed = {
		.loop = &job->loop,
		.events = &job->events,
		.name = job->name.text,
		.labels = options->labels,
		.states = job_state_names,
		.has_store = job->store != NULL,
		.metrics = options->metrics,
		.metrics_file = options->metrics_file,
		.notify = options->notify,
		.log = options->log,
		.status = job_status_of_model,
		.arg = job,
	};

	job->reports.loop = &job->loop;
	job->reports.events = &job->events;
	job->reports.look = look_at_run;
	job->reports.arg = job;
	return observers_open(&observed, &job->observers, err);
}

void job_reply_to_client(const struct job_effect *effect, json_t *reply)
{
	control_request_reply(effect->client, json_incref(reply));
	if (effect->last)
		control_request_finish(effect->client);
}

void job_tell_clients(struct job *job, json_t *reply)
{
	const struct request_table *table = &job->model.requests;

	for (size_t i = 0; i < table->count; i++)
		if (table->items[i].client && table->items[i].phase == REQUEST_ASKED)
			control_request_reply(table->items[i].client, json_incref(reply));
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

static void reply_with_checkpoints(struct job *job, struct control_request *request)
{
	json_t *reply = job_status_json(job, LOOK_AT_PROCESSES);

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
static void handle_client_request(void *arg, struct control_request *request, json_t *message)
{
	struct job *job = arg;
	const char *what = json_string_value(json_object_get(message, "do"));

	if (text_equal(what, "status"))
		control_request_answer(request, job_status_json(job, LOOK_AT_PROCESSES));
	else if (text_equal(what, "checkpoints"))
		reply_with_checkpoints(job, request);
	else if (text_equal(what, "checkpoint"))
		request_checkpoint(job, request, message);
	else if (text_equal(what, "outcome"))
		control_request_hold(request);
	else
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
