/*
 * What is measured while the job runs, and what follows from it: how long saves take and how often
 * they come, so how often to ask (--every); how far durability is behind, so when to warn.
 */
#include "step.h"

#define SAVE_LEAST_MS 50
#define BEHIND_LEAST_MS 60000
#define BEHIND_TIMES_USUAL 3

/* --- the forecast --- */

static int64_t window_ms(const struct job_model *model, const struct job_rules *rules,
			 const struct job_view *view)
{
	int64_t deadline_ms = model->stop.deadline_ms;

	if (deadline_ms != CLOCK_NEVER)
		return deadline_ms > view->now_ms ? deadline_ms - view->now_ms : 0;
	return view->usual_window_ms ? view->usual_window_ms : rules->grace_ms;
}

static int64_t upload_rest_ms(const struct job_model *model, const struct job_view *view)
{
	if (!view->uploading)
		return model->measured.upload_ms;
	return preemption_forecast_rest_ms(view->now_ms - view->upload_began_ms, view->bytes_done,
					   view->bytes_total, model->measured.upload_ms);
}

/* Since when work is not durable. */
static int64_t at_risk_since_ms(const struct job_model *model)
{
	return model->durable.written_ms > 0 ? model->durable.written_ms : model->launched_ms;
}

/* An option or an earlier attempt says that it saves, and it has not done so yet. What it saves
 * elsewhere counts, but not against the directory that the user has named. */
static bool awaits_first_save(const struct job_model *model, const struct job_rules *rules,
			      const struct job_view *view)
{
	return (rules->place_chosen || !view->saves_elsewhere) && model->facts.managed &&
	       model->attempt == ATTEMPT_CLAIMED && model->launched_ms > 0 &&
	       model->measured.rhythm.last_ms == 0;
}

struct preemption_facts job_forecast(const struct job_model *model, const struct job_rules *rules,
				     const struct job_view *view)
{
	int64_t since_ms = at_risk_since_ms(model);

	return (struct preemption_facts){
		.window_ms = window_ms(model, rules, view),
		.save_ms = model->measured.save_ms,
		.upload_ms = model->measured.upload_ms,
		.rest_ms = upload_rest_ms(model, view),
		.behind_ms = since_ms > 0 ? view->now_ms - since_ms : 0,
		.saving_for_ms = -1,
		.save_gap_ms = model->measured.rhythm.gap_ms,
		.unsaved_for_ms = awaits_first_save(model, rules, view)
					  ? view->now_ms - model->launched_ms
					  : -1,
		.since_save_ms = view->now_ms - model->measured.rhythm.last_ms,
		.can_ask = job_can_request(rules, view),
		.pending = job_has_pending(model),
		.any_durable = model->durable.written_ms > 0,
	};
}

/* --- how often to ask --- */

static void arm_interval(const struct step *step, int64_t since_ms)
{
	int64_t every_ms = step->model->measured.interval.every_ms;

	if (every_ms > 0)
		arm(step, TIMER_INTERVAL, since_ms + every_ms);
}

void restart_interval(const struct step *step)
{
	if (step->model->due_ms[TIMER_INTERVAL] != CLOCK_NEVER)
		arm_interval(step, step->view->now_ms);
}

static void update_interval(const struct step *step)
{
	struct job_model *model = step->model;
	struct preemption_facts forecast = job_forecast(model, step->rules, step->view);
	struct checkpoint_interval_facts facts = {
		.past = model->measured.past,
		.save_ms = model->measured.save_ms,
		.mtbf_ms = step->rules->mtbf_ms,
		.fits = !preemption_forecast_is_too_long(&forecast),
	};
	struct checkpoint_interval *known = &model->measured.interval, now;
	bool differs;

	/* Earlier attempts were not read, so 0 means unknown. */
	if (facts.past.save_ms == 0)
		facts.past.save_ms = -1;
	now = checkpoint_interval_choose(&facts);
	differs = known->every_ms == 0 || checkpoint_interval_differs(known, &now) ||
		  (known->save_ms < 0 && now.save_ms >= 0);
	if (!differs)
		now.every_ms = known->every_ms;
	*known = now;
	if (differs)
		say(step, SAY_INTERVAL);
}

void on_interval_due(const struct step *step)
{
	const struct job_model *model = step->model;
	int64_t now_ms = step->view->now_ms;

	/* The job has saved by itself since: the interval starts at that checkpoint. */
	if (model->any_complete && step->rules->every_auto &&
	    now_ms < model->newest.completed_ms + model->measured.interval.every_ms) {
		arm_interval(step, model->newest.completed_ms);
		return;
	}
	request_checkpoint(step, SAVED_AT_INTERVAL);
	arm_interval(step, now_ms);
}

void note_save_ended(const struct step *step)
{
	struct job_model *model = step->model;
	int64_t now_ms = step->view->now_ms, began_ms = model->measured.saving_ms;
	/* Afterwards it was only looked whether more would come. */
	int64_t took_ms = model->newest.written_ms - began_ms;

	if (step->view->child_running && now_ms >= model->measured.same_save_until_ms)
		save_rhythm_note(&model->measured.rhythm, now_ms);
	model->measured.same_save_until_ms = step->view->directory.partners_until_ms;
	model->measured.saving_ms = 0;
	if (began_ms == 0)
		return;
	/* Not the save has ended but the job, which may have written all the time. */
	if (!step->view->child_running &&
	    (model->asking.sent_ms == 0 || model->asking.sent_ms > began_ms))
		return;
	model->measured.save_ms =
		checkpoint_interval_smooth(model->measured.save_ms,
					   took_ms > SAVE_LEAST_MS ? took_ms : SAVE_LEAST_MS);
	if (!step->rules->every_auto || model->state != JOB_RUNNING)
		return;
	update_interval(step);
	arm_interval(step, now_ms);
}

/* --- how far durability is behind --- */

/* When a checkpoint has waited for too long to become durable; CLOCK_NEVER: none waits. */
static int64_t behind_at_ms(const struct job_model *model)
{
	int64_t patience_ms = BEHIND_TIMES_USUAL * model->measured.upload_ms;

	if (model->waiting_ms == 0)
		return CLOCK_NEVER;
	return model->waiting_ms + (patience_ms > BEHIND_LEAST_MS ? patience_ms : BEHIND_LEAST_MS) +
	       1;
}

bool job_is_upload_behind(const struct job_model *model, int64_t now_ms)
{
	return now_ms >= behind_at_ms(model);
}

static int64_t risk_at_ms(const struct job_model *model)
{
	int64_t worth_ms =
		preemption_forecast_warn_ms(model->durable.gap_ms, model->measured.risk_said);

	return worth_ms == INT64_MAX ? CLOCK_NEVER : at_risk_since_ms(model) + worth_ms;
}

void arm_risk(const struct step *step)
{
	const struct job_model *model = step->model;
	int64_t behind_ms = model->measured.behind_said ? CLOCK_NEVER : behind_at_ms(model);
	int64_t risk_ms = risk_at_ms(model);

	if (model->attempt == ATTEMPT_CLAIMED && model->launched_ms > 0)
		arm(step, TIMER_RISK, behind_ms < risk_ms ? behind_ms : risk_ms);
}

void on_risk_due(const struct step *step)
{
	struct job_model *model = step->model;
	int64_t now_ms = step->view->now_ms;

	if (model->state == JOB_RUNNING && !model->snapshots.superseded && model->facts.managed)
		say(step, SAY_AT_RISK);
	model->measured.behind_said |= job_is_upload_behind(model, now_ms);
	model->measured.risk_said += now_ms >= risk_at_ms(model);
	arm_risk(step);
}

static void warn_if_window_too_short(const struct step *step)
{
	struct job_model *model = step->model;
	struct preemption_facts facts = job_forecast(model, step->rules, step->view);

	if (model->measured.window_said || model->stop.stands || facts.save_ms < 0 ||
	    !preemption_forecast_is_too_long(&facts))
		return;
	model->measured.window_said = true;
	say(step, SAY_WINDOW_TOO_SHORT);
}

void note_durable(const struct step *step, const struct checkpoint *checkpoint)
{
	struct job_model *model = step->model;
	int64_t now_ms = step->view->now_ms;
	bool newest = checkpoint->generation == model->newest.generation;

	if (checkpoint->curves_only)
		return;
	set_durable(model, checkpoint);
	if (model->durable.committed_ms > 0)
		model->durable.gap_ms = now_ms - model->durable.committed_ms;
	model->durable.committed_ms = now_ms;
	model->measured.risk_said = 0;
	model->measured.behind_said = false;
	model->waiting_ms = newest ? 0 : now_ms;
	warn_if_window_too_short(step);
	arm_risk(step);
}

void begin_measuring(const struct step *step)
{
	struct job_model *model = step->model;

	model->measured.interval.every_ms = step->rules->every_ms;
	if (step->rules->every_auto)
		update_interval(step);
	arm_interval(step, step->view->now_ms);
	arm_risk(step);
}
