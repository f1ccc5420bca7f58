/*
 * Checkpoints become durable. A complete one waits until its snapshot is due; one snapshot is taken
 * at a time, always of the newest; one that fails is tried again. When the job has ended, its last
 * one is waited for. All of it stays as it is across the states of the job's life.
 */
#include "step.h"

#define STORE_RETRY_MS 10000
#define FLUSH_RETRY_MS 500
/* Fixed names that are being written are waited for: without them a snapshot would hold less than
 * the one before it. */
#define REPLACING_MOST_MS 30000
/* What was opened changed before it could be read: the next try. */
#define CHANGED_RETRY_MS 100
/* for an error that another try will hardly change */
#define TRIES_MOST 3
/* After the job's exit, the retention run of the last commit gets this long. */
#define RETENTION_MOST_MS 10000
/* Snapshots that follow each other within a minute are said so often, and then once a minute. */
#define SAID_FIRST 5
#define SAID_EVERY_MS 60000

bool job_has_pending(const struct job_model *model)
{
	return model->any_complete &&
	       model->snapshots.durable_generation != model->newest.generation;
}

bool job_has_running_tail(const struct job_model *model, const struct job_view *view)
{
	uint64_t generation = model->snapshots.ended_running;

	if (generation == 0)
		generation = view->running_generation;
	return generation > model->snapshots.durable_running;
}

bool job_may_upload_early(const struct job_model *model)
{
	return model->attempt == ATTEMPT_CLAIMED && !model->snapshots.superseded;
}

static bool can_save(const struct job_model *model)
{
	return model->attempt == ATTEMPT_CLAIMED && !model->snapshots.superseded;
}

/* --- an attempt is taken --- */

static void claim(const struct step *step)
{
	step->model->attempt = ATTEMPT_CLAIMING;
	act(step, JOB_DO_CLAIM);
}

/* The job writes to its directory. After its end, an attempt would only serve files that are torn.
 */
static void claim_at_first_write(const struct step *step)
{
	if (step->model->attempt == ATTEMPT_UNCLAIMED && step->view->child_running)
		claim(step);
}

/* --- a snapshot is begun --- */

static void begin_snapshot(const struct step *step)
{
	struct job_model *model = step->model;
	int64_t now_ms = step->view->now_ms;

	/* The next checkpoint that is complete begins it. */
	if (model->any_complete && step->view->holds_less) {
		disarm(step, TIMER_SNAPSHOT);
		return;
	}
	/* Running files are all that there is to save. */
	if (!model->any_complete)
		model->newest = (struct checkpoint){
			.step = -1,
			.reason = SAVED_BY_ITSELF,
			.completed_ms = now_ms,
			.written_ms = now_ms,
			.reported_step = step->view->reported_step,
		};
	snapshot_pacing_note_begun(&model->snapshots.pacer, now_ms,
				   step->rules->snapshot_interval_ms);
	model->snapshots.begun_ms = now_ms;
	model->snapshots.pending_ms = 0;
	model->snapshots.in_flight = true;
	disarm(step, TIMER_SNAPSHOT);
	act(step, JOB_DO_STOP_RETENTION);
	act(step, JOB_DO_TAKE_SNAPSHOT);
}

/* At a notice: half of the time that is left. */
static int64_t replacing_most_ms(const struct step *step)
{
	int64_t deadline_ms = stop_deadline_ms(step->model);
	int64_t left_ms = (deadline_ms - step->view->now_ms) / 2;

	if (!step->view->replacing)
		return 0;
	return left_ms > 0 && left_ms < REPLACING_MOST_MS ? left_ms : REPLACING_MOST_MS;
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
		.last_write_ms = ended ? 0 : step->view->last_write_ms,
		.replacing_most_ms = ended ? 0 : replacing_most_ms(step),
		.urgent = model->stop.stands || ended || request_table_awaits(&model->requests),
		.last = ended,
		.only_running = !model->any_complete && job_has_running_tail(model, step->view) &&
				step->view->only_running,
		.launched_ms = model->launched_ms,
		.begun_ms = model->snapshots.begun_ms,
	};
	int64_t wait_ms = snapshot_pacing_wait_ms(&model->snapshots.pacer, &facts);

	if (!can_save(model) || model->snapshots.in_flight ||
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

/* A snapshot may hold a checkpoint that became complete after it was begun. */
void on_planned(const struct step *step, uint64_t generation)
{
	if (generation >= step->model->newest.generation)
		step->model->snapshots.pending_ms = 0;
}

void on_claimed(const struct step *step, const struct claim_event *claim)
{
	struct job_model *model = step->model;

	model->attempt = claim->phase;
	model->facts.managed |= claim->managed;
	model->measured.past = claim->past;
	model->snapshots.any_durable = claim->any_durable;
	if (claim->restored) {
		model->durable.written_ms = step->view->now_ms;
		model->durable.step = claim->step;
	}
	if (model->stop.stands || model->state == JOB_UPLOADING)
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
	say(step, model->requests.asking == ASKING_SENT ? SAY_SAVING : SAY_SAVING_QUIETLY);
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
}

void on_complete(const struct step *step, const struct job_event *event)
{
	struct job_model *model = step->model;
	bool fresh = event->fresh && model->requests.asking == ASKING_SENT;

	model->facts.managed = true;
	take_newest(step, &event->checkpoint, reason_of(model, fresh));
	say(step, SAY_COMPLETE);
	note_save_ended(step);
	recovery_point_note_complete(&model->point, model->newest.completed_ms);
	arm_point(step);
	queue_snapshot(step);
	note_awaited_save(step);
	if (event->fresh && model->asking.sent_ms > 0 && model->asking.first_answer_ms == 0)
		model->asking.first_answer_ms = model->newest.completed_ms;
	if (!fresh)
		return;
	model->asking.answered = true;
	model->asking.answers++;
	act(step, JOB_DO_CONFIRM_FLAG);
	step_requests(step, (struct request_event){.kind = REQUEST_EV_COMPLETE,
						   .generation = model->newest.generation});
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
	recovery_point_note_complete(&model->point, model->newest.completed_ms);
	arm_point(step);
	queue_snapshot(step);
}

/* --- a snapshot has ended --- */

/* A job that saves all the time gets a line for each of its first snapshots, and then one a minute.
 */
static bool is_worth_a_line(struct job_model *model, enum save_reason reason, int64_t now_ms)
{
	if (model->snapshots.said >= SAID_FIRST && reason == SAVED_BY_ITSELF &&
	    now_ms - model->snapshots.said_ms < SAID_EVERY_MS)
		return false;
	model->snapshots.said++;
	model->snapshots.said_ms = now_ms;
	return true;
}

static void start_retention(const struct step *step)
{
	struct job_model *model = step->model;

	if (!step->rules->retains || model->snapshots.superseded || model->stop.stands ||
	    model->snapshots.retaining)
		return;
	model->snapshots.retaining = true;
	act(step, JOB_DO_START_RETENTION);
}

static void note_store_works(const struct step *step, const struct snapshot_event *snapshot)
{
	struct job_model *model = step->model;

	if (model->snapshots.failing)
		say(step, SAY_STORE_WORKS);
	model->snapshots.failing = false;
	model->snapshots.any_durable = true;
	model->snapshots.durable_running = snapshot->running_generation;
	model->flush.tries = 0;
}

/* It holds what else is complete. What is missing may be written all the time. */
static void on_durable_without_newest(const struct step *step,
				      const struct snapshot_event *snapshot)
{
	struct job_model *model = step->model;

	note_store_works(step, snapshot);
	if (model->state != JOB_UPLOADING)
		arm(step, TIMER_RETRY, step->view->now_ms + STORE_RETRY_MS);
	start_retention(step);
}

static void on_durable(const struct step *step, const struct snapshot_event *snapshot)
{
	struct job_model *model = step->model;
	int64_t now_ms = step->view->now_ms;

	note_store_works(step, snapshot);
	model->snapshots.durable_generation = snapshot->checkpoint.generation;
	model->measured.upload_ms = now_ms - snapshot->checkpoint.completed_ms;
	say(step, is_worth_a_line(model, snapshot->checkpoint.reason, now_ms)
			  ? SAY_DURABLE
			  : SAY_DURABLE_QUIETLY);
	step_requests(step, (struct request_event){.kind = REQUEST_EV_DURABLE,
						   .generation = snapshot->checkpoint.generation});
	note_durable(step, &snapshot->checkpoint);
	start_retention(step);
}

/* Whoever waits for that checkpoint is told. It may become durable yet, by another try. */
static void answer_lost(const struct step *step, uint64_t generation)
{
	step_requests(step,
		      (struct request_event){.kind = REQUEST_EV_LOST, .generation = generation});
}

static bool is_transient(enum err_kind kind)
{
	return kind == ERR_RETRY || kind == ERR_FAILED;
}

/* A failing store is given up at this time. Every byte that it accepts postpones it. */
static int64_t flush_deadline_ms(const struct step *step)
{
	int64_t since_ms = step->model->flush.began_ms;

	if (step->view->accepted_ms > since_ms)
		since_ms = step->view->accepted_ms;
	return since_ms + step->rules->flush_ms;
}

static void retry_flush(const struct step *step, enum err_kind kind)
{
	struct job_model *model = step->model;
	int64_t at_ms = step->view->now_ms + FLUSH_RETRY_MS;

	model->flush.tries++;
	if (!is_transient(kind) && model->flush.tries >= TRIES_MOST)
		return;
	/* At a notice, the deadline is the limit. */
	if (!model->stop.stands && at_ms >= flush_deadline_ms(step))
		model->flush.given_up = true;
	else
		arm(step, TIMER_RETRY, at_ms);
}

static void on_superseded(const struct step *step)
{
	step->model->snapshots.superseded = true;
	disarm(step, TIMER_SNAPSHOT);
	step_requests(step, (struct request_event){.kind = REQUEST_EV_ENDED});
	say(step, SAY_SUPERSEDED);
}

static void on_failed(const struct step *step, const struct snapshot_event *snapshot)
{
	struct job_model *model = step->model;
	uint64_t generation = snapshot->checkpoint.generation;

	/* No file of it is left, so there is nothing to make durable. */
	if (snapshot->empty && !snapshot->lacks_newest) {
		model->snapshots.durable_generation = generation;
		answer_lost(step, generation);
		return;
	}
	if (snapshot->error == ERR_CANCELLED || snapshot->empty)
		return;
	/* What is in it was written to before it could be read: it is planned again. */
	if (snapshot->changed) {
		arm(step, TIMER_RETRY, step->view->now_ms + CHANGED_RETRY_MS);
		return;
	}
	say(step, model->snapshots.failing || snapshot->error == ERR_EXISTS ? SAY_STILL_FAILING
									    : SAY_NOT_DURABLE);
	answer_lost(step, generation);
	if (snapshot->error == ERR_EXISTS) {
		on_superseded(step);
		return;
	}
	model->snapshots.failing = true;
	if (model->state == JOB_UPLOADING)
		retry_flush(step, snapshot->error);
	else
		arm(step, TIMER_RETRY, step->view->now_ms + STORE_RETRY_MS);
}

void on_snapshot_done(const struct step *step, const struct snapshot_event *snapshot)
{
	step->model->snapshots.in_flight = false;
	if (snapshot->durable && snapshot->lacks_newest)
		on_durable_without_newest(step, snapshot);
	else if (snapshot->durable)
		on_durable(step, snapshot);
	else
		on_failed(step, snapshot);
	continue_plan(step);
	if (step->model->state == JOB_UPLOADING)
		flush(step);
	else
		pace_snapshots(step);
}

void on_retention_done(const struct step *step)
{
	step->model->snapshots.retaining = false;
	if (step->model->state == JOB_UPLOADING)
		flush(step);
}

/* --- the job has ended --- */

static void begin_flush(const struct step *step)
{
	struct job_model *model = step->model;

	if (model->flush.began_ms > 0)
		return;
	model->flush.began_ms = step->view->now_ms;
	arm(step, TIMER_FLUSH, model->flush.began_ms + step->rules->flush_ms);
	/* No job is left that the upload could slow down. */
	act(step, JOB_DO_HURRY_STORE);
}

void flush(const struct step *step)
{
	struct job_model *model = step->model;
	/* What metrics and logs got last belongs to the work too. */
	bool missing = job_has_pending(model) || job_has_running_tail(model, step->view);

	begin_flush(step);
	if (model->snapshots.in_flight || model->attempt == ATTEMPT_CLAIMING ||
	    model->due_ms[TIMER_RETRY] != CLOCK_NEVER)
		return;
	/* The store may have failed before: one new try, which retry_flush() repeats. */
	if (missing && model->attempt != ATTEMPT_NONE && !model->snapshots.superseded &&
	    !model->flush.once_more) {
		model->flush.once_more = true;
		queue_snapshot(step);
	}
	if (model->snapshots.in_flight || model->attempt == ATTEMPT_CLAIMING)
		return;
	if (model->snapshots.retaining)
		act_at(step, JOB_DO_LIMIT_RETENTION, RETENTION_MOST_MS);
	else
		live(step, EV_UPLOADED);
}

/* Gives up between tries, or in one that hangs; but not in the first one, because a store that is
 * slow has not failed. */
void on_flush_due(const struct step *step)
{
	struct job_model *model = step->model;
	int64_t now_ms = step->view->now_ms, ends_ms = flush_deadline_ms(step);

	if (model->state != JOB_UPLOADING || model->stop.stands)
		return;
	if (now_ms < ends_ms) {
		arm(step, TIMER_FLUSH, ends_ms);
	} else if (!model->snapshots.failing && model->attempt != ATTEMPT_CLAIMING) {
		arm(step, TIMER_FLUSH, now_ms + FLUSH_RETRY_MS);
	} else {
		model->flush.given_up = true;
		live(step, EV_BUDGET_SPENT);
	}
}

struct outcome_facts job_outcome_facts(const struct job_model *model, const struct job_rules *rules,
				       const struct job_view *view, bool torn)
{
	struct outcome_facts facts = model->facts;
	int64_t first_answer_ms = model->asking.first_answer_ms;
	bool asked_its_way = model->asking.by_flag || job_can_request(rules, view);
	/* Only the job knows whether SIGTERM asks it to save: it did if a save was begun and is
	 * torn. */
	bool in_vain = facts.noticed && model->asking.sent_ms > 0 && !model->asking.answered &&
		       (asked_its_way || (torn && view->any_rank));
	/* Running files are all that this job has written, or the last that it wrote. */
	bool tail = model->attempt == ATTEMPT_CLAIMED && job_has_running_tail(model, view) &&
		    (!model->any_complete || !facts.noticed);
	/* Its metrics are saved; but of its checkpoints, none was complete. */
	bool none = !model->any_complete && torn && facts.noticed;

	facts.torn = torn;
	facts.asked = model->asking.sent_ms > 0 || first_answer_ms > 0;
	facts.lived_on_ms = first_answer_ms > 0 ? model->flush.began_ms - first_answer_ms : 0;
	facts.saved = model->asking.answered;
	facts.went_on = model->asking.answers > 1;
	facts.asked_to_save = model->asking.sent_ms > 0 && asked_its_way;
	facts.goes_on = rules->zero_is_finished;
	if (job_has_pending(model) || tail || none)
		facts.all_durable = false;
	else if (in_vain || model->attempt != ATTEMPT_CLAIMED || !facts.managed)
		facts.all_durable = !facts.managed;
	else
		facts.all_durable = model->snapshots.any_durable || !facts.noticed;
	return facts;
}
