/*
 * Checkpoints become snapshots. A complete one waits until its snapshot is due; one snapshot is
 * taken at a time, always of the newest. The attempt of the job that they belong to is taken at the
 * start, or when the job first writes. All of it stays as it is across the states of the job's
 * life. And what is measured while the job runs: how long saves take and how often they come, so
 * how often to ask (--every); how far durability is behind, so when to warn.
 */
#include "step.h"

#define SAVE_LEAST_MS 50
#define BEHIND_LEAST_MS 60000
#define BEHIND_TIMES_USUAL 3

/* Fixed names that are being written are waited for: without them a snapshot would hold less than
 * the one before it. */
#define REPLACING_MOST_MS 30000

bool job_has_pending(const struct job_model *model)
{
	return model->any_complete &&
	       model->snapshots.durable_generation != model->newest.generation;
}

bool job_has_running_tail(const struct job_model *model, const struct job_view *view)
{
	uint64_t generation = model->snapshots.ended_running;

	if (generation == 0)
		generation = view->directory.running_generation;
	return generation > model->snapshots.durable_running;
}

bool job_can_save(const struct job_model *model)
{
	return model->attempt == ATTEMPT_CLAIMED && !model->snapshots.superseded;
}

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

static void note_save_ended(const struct step *step)
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

static void arm_risk(const struct step *step)
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

/* --- an attempt is taken --- */

static void claim(const struct step *step)
{
	step->model->attempt = ATTEMPT_CLAIMING;
	step->model->claim_tried = true;
	act(step, JOB_DO_CLAIM);
}

/* The job writes to its directory. After its end, an attempt would only serve files that are torn.
 */
static void claim_at_first_write(const struct step *step)
{
	if (step->model->attempt == ATTEMPT_UNCLAIMED && !step->model->claim_tried &&
	    step->view->child_running)
		claim(step);
}

/* --- a snapshot is begun --- */

/* Running files are all that there is to save: with the checkpoint of the start, if there is one.
 */
static struct checkpoint running_tail(const struct step *step)
{
	const struct job_model *model = step->model;
	bool as_of_start = model->durable.as_of_start;
	int64_t now_ms = step->view->now_ms;

	return (struct checkpoint){
		.step = as_of_start ? model->durable.step : -1,
		.reason = SAVED_BY_ITSELF,
		.completed_ms = now_ms,
		.written_ms = as_of_start ? model->durable.written_ms : now_ms,
		.reported_step = as_of_start ? model->durable.reported_step
					     : step->view->directory.reported_step,
		.as_of_start = as_of_start,
		.curves_only = !as_of_start && !step->view->directory.running_work,
	};
}

static void begin_snapshot(const struct step *step)
{
	struct job_model *model = step->model;
	int64_t now_ms = step->view->now_ms;

	/* The next checkpoint that is complete begins it. */
	if (model->any_complete && step->view->directory.holds_less) {
		disarm(step, TIMER_SNAPSHOT);
		return;
	}
	if (!model->any_complete)
		model->newest = running_tail(step);
	snapshot_pacing_note_begun(&model->snapshots.pacer, now_ms,
				   step->rules->snapshot_interval_ms);
	model->snapshots.begun_ms = now_ms;
	model->snapshots.pending_ms = 0;
	model->snapshots.partners_until_ms = 0;
	model->snapshots.in_flight = true;
	disarm(step, TIMER_SNAPSHOT);
	if (model->snapshots.retaining)
		act(step, JOB_DO_STOP_RETENTION);
	act(step, JOB_DO_TAKE_SNAPSHOT);
}

void begin_snapshot_now(const struct step *step)
{
	const struct job_model *model = step->model;

	/* After the job's end also the one of the start. */
	bool any = model->any_complete || model->state == JOB_UPLOADING;

	if (job_can_save(model) && any && !model->snapshots.in_flight &&
	    model->due_ms[TIMER_RETRY] == CLOCK_NEVER)
		begin_snapshot(step);
}

/* At a notice: half of the time that is left. */
static int64_t replacing_most_ms(const struct step *step)
{
	int64_t left_ms = (step->model->stop.deadline_ms - step->view->now_ms) / 2;

	if (!step->view->directory.replacing)
		return 0;
	return left_ms > 0 && left_ms < REPLACING_MOST_MS ? left_ms : REPLACING_MOST_MS;
}

/* Those of one save: what the next ones write does not put the snapshot off again. At a notice: as
 * long as there is time for the upload after it. */
static int64_t partners_until_ms(const struct step *step)
{
	struct job_model *model = step->model;
	int64_t until_ms = step->view->directory.partners_until_ms;
	int64_t last_ms = model->budget.ask_until_ms;

	if (model->snapshots.pending_ms > 0 && model->snapshots.partners_until_ms == 0)
		model->snapshots.partners_until_ms = until_ms;
	if (model->snapshots.partners_until_ms < until_ms)
		until_ms = model->snapshots.partners_until_ms;
	return model->stop.deadline_ms != CLOCK_NEVER && last_ms < until_ms ? last_ms : until_ms;
}

/* What is complete, or was written to running files, is saved when it is due. */
void pace_snapshots(const struct step *step)
{
	const struct job_model *model = step->model;
	bool ended = model->state == JOB_UPLOADING;
	struct snapshot_pacing_facts facts = {
		.now_ms = step->view->now_ms,
		.interval_ms = step->rules->snapshot_interval_ms,
		.pending_ms = model->snapshots.pending_ms,
		.last_write_ms =
			ended || model->newest.by_word ? 0 : step->view->directory.last_write_ms,
		.replacing_most_ms = ended ? 0 : replacing_most_ms(step),
		.partners_until_ms = ended ? 0 : partners_until_ms(step),
		.urgent = model->stop.stands || ended || request_table_awaits(&model->requests),
		.last = ended,
		.only_running = !model->any_complete && job_has_running_tail(model, step->view) &&
				step->view->directory.only_running,
		.launched_ms = model->launched_ms,
		.begun_ms = model->snapshots.begun_ms,
	};
	int64_t wait_ms = snapshot_pacing_wait_ms(&model->snapshots.pacer, &facts);

	if (!job_can_save(model) || model->snapshots.in_flight ||
	    model->due_ms[TIMER_RETRY] != CLOCK_NEVER)
		return;
	if (wait_ms == 0)
		begin_snapshot(step);
	else if (wait_ms != SNAPSHOT_PACING_NEVER)
		arm(step, TIMER_SNAPSHOT, facts.now_ms + wait_ms);
}

void queue_snapshot(const struct step *step)
{
	struct job_model *model = step->model;

	if (model->attempt == ATTEMPT_NONE)
		say(step, SAY_NO_STORE);
	if (model->attempt == ATTEMPT_NONE || model->snapshots.superseded)
		return;
	if (model->snapshots.pending_ms == 0)
		model->snapshots.pending_ms = step->view->now_ms;
	if (model->attempt == ATTEMPT_UNCLAIMED)
		claim(step);
	else
		pace_snapshots(step);
}

void on_retry_due(const struct step *step)
{
	struct job_model *model = step->model;

	if (!model->snapshots.in_flight &&
	    (job_has_pending(model) || job_has_running_tail(model, step->view)))
		begin_snapshot(step);
	if (model->state == JOB_UPLOADING && !model->snapshots.in_flight)
		flush(step);
}

static void note_start(struct job_model *model, const struct claim_event *claim, int64_t now_ms)
{
	model->facts.managed |= claim->managed;
	model->measured.past = claim->past;
	model->snapshots.any_durable = claim->any_durable;
	if (claim->restored || claim->any_checkpoint) {
		model->durable.written_ms = now_ms;
		model->durable.step = claim->step;
	}
	model->durable.as_of_start = claim->any_checkpoint;
}

void on_claimed(const struct step *step, const struct claim_event *claim)
{
	struct job_model *model = step->model;
	bool ends = model->state == JOB_STOPPING || model->state == JOB_UPLOADING;

	model->attempt = claim->phase;
	if (model->state == JOB_RESTORING)
		note_start(model, claim, step->view->now_ms);
	if (model->stop.stands || ends)
		act(step, JOB_DO_HURRY_STORE);
	if (model->stop.stands)
		act_at(step, JOB_DO_SET_COMMIT_DEADLINE, model->budget.commit_until_ms);
	/* A job that claims its attempt late may have a notice already. */
	tell_next_attempt(step);
	if (model->state == JOB_RESTORING)
		return;
	if (model->any_complete && model->attempt == ATTEMPT_CLAIMED)
		queue_snapshot(step);
	else
		pace_snapshots(step);
	if (model->state == JOB_UPLOADING)
		flush(step);
}

/* --- the job writes --- */

void on_save_started(const struct step *step, const struct job_event *event)
{
	struct job_model *model = step->model;

	model->facts.managed = true;
	if (!event->foreign)
		claim_at_first_write(step);
	say(step, SAY_SAVING);
	model->measured.saving_ms = step->view->now_ms;
}

void on_running_written(const struct step *step, const struct job_event *event)
{
	struct job_model *model = step->model;

	model->facts.managed = true;
	if (!event->foreign)
		claim_at_first_write(step);
	if (!model->any_complete && model->due_ms[TIMER_SNAPSHOT] == CLOCK_NEVER)
		pace_snapshots(step);
}

/* Why it was saved. One that was asked for and is still to be saved gives its reason to those that
 * follow it: the next snapshot holds both. */
static enum save_reason reason_of(const struct job_model *model, bool fresh)
{
	if (fresh)
		return request_table_cause(&model->requests);
	if (job_has_pending(model))
		return model->newest.reason;
	return model->state == JOB_UPLOADING ? SAVED_AT_EXIT : SAVED_BY_ITSELF;
}

static void take_newest(const struct step *step, const struct checkpoint *checkpoint,
			enum save_reason reason)
{
	struct job_model *model = step->model;

	model->any_complete = true;
	model->newest = *checkpoint;
	model->newest.reason = reason;
	model->newest.completed_ms = step->view->now_ms;
	if (model->waiting_ms == 0)
		model->waiting_ms = model->newest.completed_ms;
	arm_risk(step);
}

void on_complete(const struct step *step, const struct job_event *event)
{
	struct job_model *model = step->model;
	bool fresh = event->fresh && model->requests.asking == ASKING_SENT;

	model->facts.managed = true;
	take_newest(step, &event->checkpoint, reason_of(model, fresh));
	say(step, SAY_COMPLETE);
	note_save_ended(step);
	queue_snapshot(step);
	note_awaited_save(step);
	end_after_save(step);
	if (event->fresh && model->asking.sent_ms > 0 && model->asking.first_answer_ms == 0)
		model->asking.first_answer_ms = model->newest.completed_ms;
	if (!fresh)
		return;
	model->asking.answered = true;
	model->asking.answers++;
	act(step, JOB_DO_CONFIRM_FLAG);
	requests_note_complete(step, model->newest.generation, event->late);
	say(step, SAY_SAVED);
	settle(step);
}

/* The directory held a checkpoint at the start that is newer than the store. */
void on_existing(const struct step *step, const struct job_event *event)
{
	struct job_model *model = step->model;

	if (model->attempt != ATTEMPT_CLAIMED)
		return;
	take_newest(step, &event->checkpoint, SAVED_BY_ITSELF);
	/* No checkpoint has this number: it is not durable yet. */
	model->snapshots.durable_generation = UINT64_MAX;
	queue_snapshot(step);
}
