/* PURE, but for the clock. What a run tells of itself: to `reprieve status`, and to those who
 * observe it. */
#include "base/clock.h"
#include "base/text.h"
#include "monitor/monitor.h"
#include "reporting.h"

#include <stdio.h>
#include <unistd.h>

static void add_age(json_t *status, const char *name, int64_t since_ms)
{
	if (since_ms > 0)
		json_object_set_new(status, name,
				    json_real((double)(clock_monotonic_ms() - since_ms) / 1000));
}

/* The job's own report: reprieve_progress(). */
static void add_training(const struct training_progress *progress, json_t *status)
{
	json_t *training;

	if (!progress)
		return;
	training = json_pack("{s:I}", "step", (json_int_t)progress->step);
	if (progress->mean_ms > 0)
		json_object_set_new(training, "step_seconds", json_real(progress->mean_ms / 1000));
	add_age(training, "seconds", progress->step_ms);
	json_object_set_new(status, "training", training);
}

/* What a start now would resume from. */
static struct snapshot_id newest_durable(const struct run_facts *run)
{
	return snapshot_id_is_none(run->durable) && run->restored ? run->from : run->durable;
}

const char *run_facts_resume_point(const struct run_facts *run, char text[RESUME_POINT_TEXT])
{
	struct snapshot_id newest = newest_durable(run);
	char id[SNAPSHOT_ID_TEXT];

	if (snapshot_id_is_none(newest))
		text_set(text, RESUME_POINT_TEXT, "");
	else if (run->model->durable.step < 0)
		text_set(text, RESUME_POINT_TEXT, snapshot_id_format(newest, id));
	else
		snprintf(text, RESUME_POINT_TEXT, "%s, step %lld", snapshot_id_format(newest, id),
			 (long long)run->model->durable.step);
	return text;
}

struct preemption_facts run_facts_forecast(const struct run_facts *run)
{
	struct preemption_facts facts = job_forecast(run->model, run->rules, &run->view);

	facts.can_ask = job_can_request_or_signal(run->rules, &run->view);
	return facts;
}

static void add_forecast(const struct run_facts *run, json_t *status)
{
	const struct job_model *model = run->model;
	struct preemption_facts facts = run_facts_forecast(run);
	char loss[120], plan[256];

	if (!run->saves || model->launched_ms <= 0)
		return;
	json_object_set_new(status, "at_risk_seconds", json_real((double)facts.behind_ms / 1000));
	/* Of what it saves from then on, nothing is made durable: no plan holds. */
	if (model->snapshots.superseded)
		return;
	preemption_forecast_format_loss(&facts, loss, sizeof(loss));
	json_object_set_new(status, "loss", json_string(loss));
	/* Of the notice that stands, else of one that came now. */
	preemption_forecast_format_plan(model->plan.made ? &model->plan.facts : &facts, plan,
					sizeof(plan));
	if (run->view.child_running)
		json_object_set_new(status, "plan", json_string(plan));
}

/* The upload under way; "bytes_per_second" and "seconds_left" once they are known. */
static void add_upload(const struct reports *reports, const struct run_facts *run, json_t *status)
{
	struct progress_facts upload;
	json_t *saving;

	if (!display_upload(reports, &run->view, &upload))
		return;
	saving = json_pack("{s:I, s:I}", "bytes_done", (json_int_t)upload.done, "bytes_total",
			   (json_int_t)upload.total);
	if (upload.rate > 0)
		json_object_set_new(saving, "bytes_per_second",
				    json_integer((json_int_t)upload.rate));
	if (progress_left_ms(&upload) >= 0)
		json_object_set_new(saving, "seconds_left",
				    json_real((double)progress_left_ms(&upload) / 1000));
	json_object_set_new(saving, "still_seconds", json_real((double)upload.still_ms / 1000));
	json_object_set_new(status, "saving", saving);
}

json_t *status_report(const struct reports *reports, struct status_parts *parts)
{
	struct run_facts run = reports->look(reports->arg, LOOK_AT_PROCESSES);
	const struct job_model *model = run.model;
	struct snapshot_id newest = newest_durable(&run);
	char id[SNAPSHOT_ID_TEXT];
	json_t *status;

	status = json_pack("{s:s, s:s, s:i, s:i, s:i, s:s?, s:I, s:s, s:b, s:b}", "job", run.job,
			   "state", job_state_name(model->state), "attempt", (int)run.attempt,
			   "pid", (int)run.pid, "supervisor_pid", (int)getpid(), "durable",
			   snapshot_id_is_none(newest) ? NULL : snapshot_id_format(newest, id),
			   "step", (json_int_t)model->durable.step, "store",
			   run.store ? run.store : "", "waiting", model->point.waiting_ms > 0,
			   "behind", recovery_point_is_behind(&model->point, run.view.now_ms));
	if (model->snapshots.superseded)
		json_object_set_new(status, "superseded", json_true());
	add_age(status, "durable_seconds", model->durable.written_ms);
	json_object_set_new(status, "counters", parts->counters);
	json_object_set_new(status, "labels", parts->labels);
	add_forecast(&run, status);
	add_training(parts->training, status);
	json_object_set_new(status, "sources", parts->sources);
	if (run.stop)
		json_object_set_new(status, "notice", notice_format_json(run.stop));
	if (parts->rank_progress)
		json_object_set_new(status, "rank_progress", parts->rank_progress);
	if (model->any_complete) {
		json_object_set_new(status, "newest_step", json_integer(model->newest.step));
		add_age(status, "newest_seconds", model->newest.completed_ms);
	}
	add_upload(reports, &run, status);
	if (parts->gang)
		json_object_set_new(status, "gang", parts->gang);
	return status;
}
