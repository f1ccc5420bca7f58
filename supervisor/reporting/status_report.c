/* PURE, but for the clock. What a run tells of itself: to `reprieve status`, and to those who
 * observe it. */
#include "reporting.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "monitor/monitor.h"

#include <stdio.h>
#include <unistd.h>

/* --- progress_display --- */

/*
 * What a person sees of the job while something of it is under way: the upload, and the countdown
 * of a notice. On a terminal that is one line which is drawn again, but only once the job has
 * ended: while it runs, the terminal is the job's. Until then, and in a log, there is a line of log
 * now and then.
 */

#define LOOK_EVERY_MS 250
#define DRAW_AFTER_MS 500
#define TEXT_MOST 256

static void on_look(struct timer *timer);

void display_follow(struct reports *reports, const struct job_model *model, int64_t upload_began_ms)
{
	struct timer *timer = &reports->display.timer;
	bool is_worth_a_look =
		!reports->loop->stopped && model->facts.launched &&
		(model->stop.stands || model->state == JOB_UPLOADING || upload_began_ms > 0);

	timer->fired = on_look;
	if (!is_worth_a_look)
		display_end(reports);
	else if (!timer->armed)
		loop_arm(reports->loop, timer, clock_monotonic_ms() + LOOK_EVERY_MS);
}

void display_end(struct reports *reports)
{
	loop_disarm(reports->loop, &reports->display.timer);
	reports->display.upload_ms = reports->display.said_ms = 0;
	status_line_clear();
}

/* The upload under way, with its rate once that is known; false: there is none. */
static bool read_upload(const struct reports *reports, const struct job_view *view,
			struct progress_facts *facts)
{
	uint64_t done = view->bytes_done, total = view->bytes_total;

	if (!view->uploading)
		return false;
	*facts = (struct progress_facts){.what = "uploading", .done = done, .total = total};
	if (reports->display.upload_ms == view->upload_began_ms)
		*facts = transfer_meter_facts(&reports->display.meter, "uploading", total,
					      view->now_ms);
	return true;
}

/* False: no upload is under way. */
static bool measure_upload(struct reports *reports, const struct job_view *view,
			   struct progress_facts *facts)
{
	int64_t now_ms = view->now_ms;
	uint64_t done = view->bytes_done;

	if (!view->upload_began_ms || !view->uploading) {
		reports->display.upload_ms = 0;
		return false;
	}
	if (view->upload_began_ms != reports->display.upload_ms) {
		reports->display.upload_ms = view->upload_began_ms;
		reports->display.meter = transfer_meter_new(now_ms, done);
		reports->display.line_ms = now_ms - PROGRESS_LINE_BEFORE_MS;
	}
	transfer_meter_add(&reports->display.meter, now_ms, done);
	return read_upload(reports, view, facts);
}

/* What is waited for; NULL: that is not worth a word. */
static const char *awaited_text(const struct run_facts *run)
{
	const struct job_model *model = run->model;

	if (!run->view.child_running)
		return NULL;
	if (model->state == JOB_STOPPING)
		return "the job is ending";
	if (run->view.directory.saving)
		return "the job is saving";
	/* It cannot be asked, and nobody waits for its end (core/stopping.c). */
	if (model->asking.sent_ms == 0 && !model->deferral.awaited && !model->plan.upload_first)
		return "the job trains on";
	return "waiting for the job to save";
}

static bool countdown_is_due(struct reports *reports, int64_t left_ms)
{
	int64_t *said_ms = &reports->display.said_ms;

	/* The notice itself, or a later deadline, has just been logged. */
	if (*said_ms == 0 || left_ms > *said_ms)
		*said_ms = left_ms;
	if (!countdown_is_worth_a_line(*said_ms, left_ms))
		return false;
	*said_ms = left_ms;
	return true;
}

static bool upload_is_due(struct reports *reports, int64_t still_ms, int64_t now_ms)
{
	if (!progress_is_worth_a_line(now_ms - reports->display.line_ms, still_ms))
		return false;
	reports->display.line_ms = now_ms;
	return true;
}

static bool may_draw(const struct run_facts *run)
{
	int64_t ended_ms = run->model->flush.began_ms;

	return !run->view.child_running && ended_ms > 0 &&
	       run->view.now_ms - ended_ms >= DRAW_AFTER_MS && log_shows(LOG_LEVEL_NOTE) &&
	       status_line_is_possible();
}

static void on_look(struct timer *timer)
{
	struct reports *reports = container_of(timer, struct reports, display.timer);
	struct run_facts run = reports->look(reports->arg, LOOK_AT_PARTS);
	int64_t now_ms = run.view.now_ms, deadline_ms = run.model->stop.deadline_ms;
	int64_t left_ms = deadline_ms == CLOCK_NEVER ? -1 : clock_left_ms(deadline_ms);
	struct progress_facts upload = {0};
	bool sending = measure_upload(reports, &run.view, &upload), stands = run.model->stop.stands;
	char text[TEXT_MOST];

	if (stands)
		progress_text_countdown(left_ms, awaited_text(&run), sending ? &upload : NULL, text,
					sizeof(text));
	else
		progress_text_line(&upload, text, sizeof(text));
	if (may_draw(&run) && (stands || sending))
		status_line_show(text);
	else if (may_draw(&run))
		status_line_clear();
	else if (stands ? countdown_is_due(reports, left_ms)
			: sending && upload_is_due(reports, upload.still_ms, now_ms))
		log_note("%s", text);
	loop_arm(reports->loop, timer, now_ms + LOOK_EVERY_MS);
}

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

	if (model->attempt != ATTEMPT_CLAIMED || model->launched_ms <= 0)
		return;
	json_object_set_new(status, "at_risk_seconds", json_seconds(facts.behind_ms));
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

	if (!read_upload(reports, &run->view, &upload))
		return;
	saving = json_pack("{s:I, s:I}", "bytes_done", (json_int_t)upload.done, "bytes_total",
			   (json_int_t)upload.total);
	if (upload.rate > 0)
		json_object_set_new(saving, "bytes_per_second",
				    json_integer((json_int_t)upload.rate));
	if (progress_left_ms(&upload) >= 0)
		json_object_set_new(saving, "seconds_left",
				    json_seconds(progress_left_ms(&upload)));
	json_object_set_new(saving, "still_seconds", json_seconds(upload.still_ms));
	json_object_set_new(status, "saving", saving);
}

json_t *status_report(const struct reports *reports, enum run_look look,
		      const struct training_progress *training)
{
	struct run_facts run = reports->look(reports->arg, look);
	const struct job_model *model = run.model;
	struct snapshot_id newest = newest_durable(&run);
	char id[SNAPSHOT_ID_TEXT];
	json_t *status;

	status = json_pack("{s:s, s:s, s:i, s:i, s:i, s:s?, s:o, s:s, s:b, s:b}", "job", run.job,
			   "state", job_state_names[model->state], "attempt", (int)run.attempt,
			   "pid", (int)run.pid, "supervisor_pid", (int)getpid(), "durable",
			   snapshot_id_is_none(newest) ? NULL : snapshot_id_format(newest, id),
			   "step", json_integer_or_null(model->durable.step), "store",
			   run.store ? run.store : "", "waiting", model->waiting_ms > 0, "behind",
			   job_is_upload_behind(model, run.view.now_ms));
	if (model->snapshots.superseded)
		json_object_set_new(status, "superseded", json_true());
	add_age(status, "durable_seconds", model->durable.written_ms);
	add_forecast(&run, status);
	add_training(training, status);
	if (run.stop)
		json_object_set_new(status, "notice", notice_format_json(run.stop));
	if (model->any_complete) {
		json_object_set_new(status, "newest_step",
				    json_integer_or_null(model->newest.step));
		add_age(status, "newest_seconds", model->newest.completed_ms);
	}
	add_upload(reports, &run, status);
	return status;
}
