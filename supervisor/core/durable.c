/*
 * What came of a snapshot: it is durable, or it failed and is tried again. When the job has ended,
 * its last one is waited for. And in the end: is everything durable that the job has saved?
 */
#include "step.h"

#define STORE_RETRY_MS 10000
#define FLUSH_RETRY_MS 500
/* What was opened changed before it could be read: the next try. */
#define CHANGED_RETRY_MS 100
/* for an error that another try will hardly change */
#define TRIES_MOST 3
/* After the job's exit, the retention run of the last commit gets this long. */
#define RETENTION_MOST_MS 10000
/* Of a store that has been given up already, and of any where no deadline stands: nothing else is
 * heard meanwhile. */
#define LAST_LOOK_LEAST_MS 2000
#define LAST_LOOK_MOST_MS 10000
/* Snapshots that follow each other within a minute are said so often, and then once a minute. */
#define SAID_FIRST 5
#define SAID_EVERY_MS 60000

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

static void say_durable(const struct step *step, const struct snapshot_event *snapshot)
{
	bool worth = is_worth_a_line(step->model, snapshot->checkpoint.reason, step->view->now_ms);

	say(step, worth ? SAY_DURABLE : SAY_DURABLE_QUIETLY);
}

static void start_retention(const struct step *step)
{
	struct job_model *model = step->model;

	if (!step->rules->retains || model->snapshots.superseded || model->stop.stands ||
	    model->snapshots.retaining || model->snapshots.in_flight)
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

/* It holds what else is complete: snapshot->checkpoint says what. What is missing may be written
 * all the time. */
static void on_durable_without_newest(const struct step *step,
				      const struct snapshot_event *snapshot)
{
	struct job_model *model = step->model;

	note_store_works(step, snapshot);
	if (snapshot->checkpoint.written_ms > model->durable.written_ms) {
		set_durable(model, &snapshot->checkpoint);
		model->durable.as_of_start = false;
	}
	/* Of a gang it is the newest that all members have, and the next round may be of a later
	 * one.
	 */
	if (step->rules->of_gang)
		say_durable(step, snapshot);
	if (model->state != JOB_UPLOADING && step->rules->of_gang)
		queue_snapshot(step);
	else if (model->state != JOB_UPLOADING)
		arm(step, TIMER_RETRY, step->view->now_ms + STORE_RETRY_MS);
	start_retention(step);
}

static void on_durable(const struct step *step, const struct snapshot_event *snapshot)
{
	struct job_model *model = step->model;

	note_store_works(step, snapshot);
	/* One in which only a log has grown says nothing of what a checkpoint takes. */
	if (snapshot->checkpoint.generation != model->snapshots.durable_generation)
		model->measured.upload_ms = snapshot->took_ms;
	model->snapshots.durable_generation = snapshot->checkpoint.generation;
	say_durable(step, snapshot);
	requests_note_stored(step, snapshot->checkpoint.generation, true);
	note_durable(step, &snapshot->checkpoint);
	start_retention(step);
}

/* A failing store is given up at this time. Every byte that it accepts postpones it; so does all
 * that the other members of a gang bring to an end. */
static int64_t flush_deadline_ms(const struct step *step)
{
	int64_t since_ms = step->model->flush.began_ms;

	if (step->view->accepted_ms > since_ms)
		since_ms = step->view->accepted_ms;
	if (step->view->gang_heard_ms > since_ms)
		since_ms = step->view->gang_heard_ms;
	return since_ms + step->rules->flush_ms;
}

static void retry_flush(const struct step *step, enum err_kind kind)
{
	struct job_model *model = step->model;
	int64_t at_ms = step->view->now_ms + FLUSH_RETRY_MS;
	/* Somebody may make room in a store that is full. */
	bool transient = kind == ERR_RETRY || kind == ERR_FAILED || kind == ERR_NO_SPACE;

	model->flush.tries++;
	if (!transient && model->flush.tries >= TRIES_MOST)
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
	requests_end(step);
	say(step, SAY_SUPERSEDED);
}

static void on_failed(const struct step *step, const struct snapshot_event *snapshot)
{
	struct job_model *model = step->model;
	uint64_t generation = snapshot->checkpoint.generation;

	/* No file of it is left, so there is nothing to make durable. */
	if (snapshot->empty && !snapshot->lacks_newest) {
		model->snapshots.durable_generation = generation;
		requests_note_stored(step, generation, false);
		return;
	}
	if (snapshot->error == ERR_CANCELLED || snapshot->empty)
		return;
	/* What is in it was written to before it could be read: it is planned again. */
	if (snapshot->changed) {
		arm(step, TIMER_RETRY, step->view->now_ms + CHANGED_RETRY_MS);
		return;
	}
	/* Only what the store has refused is a failure to speak of, and the end of one is news. */
	say(step, model->snapshots.failing || snapshot->not_whole || snapshot->error == ERR_EXISTS
			  ? SAY_STILL_FAILING
			  : SAY_NOT_DURABLE);
	/* It may become durable yet, by another try. */
	requests_note_stored(step, generation, false);
	if (snapshot->error == ERR_EXISTS) {
		on_superseded(step);
		return;
	}
	model->snapshots.failing |= !snapshot->not_whole;
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

static void offer_to_give_up(const struct step *step)
{
	step->model->flush.offered = true;
	say(step, SAY_FLUSH_GOES_ON);
}

/* Ctrl-C, after the job's end. What is given up was not what the first one asked for, so it is said
 * before. In a gang the others wait for what this member sends. */
void on_flush_interrupted(const struct step *step)
{
	struct job_model *model = step->model;

	if (step->rules->of_gang)
		return;
	if (!model->flush.offered) {
		offer_to_give_up(step);
		return;
	}
	model->flush.interrupted = true;
	say(step, SAY_FLUSH_INTERRUPTED);
	live(step, EV_BUDGET_SPENT);
}

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
	bool tail = job_has_running_tail(model, step->view);
	/* At a notice the others end too, and no round comes of logs alone. */
	bool missing = (job_has_pending(model) && !model->gang.answered) ||
		       (tail && !(step->rules->of_gang && model->stop.stands));
	bool begins;

	begins = model->flush.began_ms == 0;
	begin_flush(step);
	if (begins && missing && model->attempt == ATTEMPT_CLAIMED && !step->rules->of_gang &&
	    !model->stop.stands && outcome_is_interrupt(model->facts.wait_status))
		offer_to_give_up(step);
	if (gives_up_waiting(step))
		return;
	if (model->gang.answered && model->snapshots.in_flight)
		arm(step, TIMER_FLUSH, step->view->now_ms + FLUSH_RETRY_MS);
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
	else if (leave_gang(step))
		live(step, EV_UPLOADED);
}

/* Gives up between tries, or in one that hangs; but not in the first one, because a store that is
 * slow has not failed. */
void on_flush_due(const struct step *step)
{
	struct job_model *model = step->model;
	int64_t now_ms = step->view->now_ms, ends_ms = flush_deadline_ms(step);

	if (model->state != JOB_UPLOADING)
		return;
	/* The notice has its own end; but it may be withdrawn, and what waits for others waits on.
	 */
	if (model->stop.stands && step->rules->of_gang)
		arm(step, TIMER_FLUSH, now_ms + FLUSH_RETRY_MS);
	if (gives_up_waiting(step) || model->stop.stands)
		return;
	if (now_ms < ends_ms) {
		arm(step, TIMER_FLUSH, ends_ms);
	} else if (leave_gang_at_once(step)) {
		return;
	} else if (!model->snapshots.failing && !step->view->awaits_gang &&
		   model->attempt != ATTEMPT_CLAIMING) {
		arm(step, TIMER_FLUSH, now_ms + FLUSH_RETRY_MS);
	} else {
		model->flush.given_up = true;
		model->gang.lost |= step->view->awaits_gang;
		live(step, EV_BUDGET_SPENT);
	}
}

int64_t job_last_look_ms(const struct job_model *model, const struct job_rules *rules,
			 int64_t now_ms, int64_t end_ms)
{
	int64_t most_ms = model->flush.given_up ? LAST_LOOK_LEAST_MS : LAST_LOOK_MOST_MS;

	if (end_ms != CLOCK_NEVER)
		return end_ms > now_ms ? now_ms + (end_ms - now_ms) / 2 : now_ms;
	return now_ms + (rules->flush_ms < most_ms ? rules->flush_ms : most_ms);
}

void job_note_late_commit(struct job_model *model)
{
	model->snapshots.durable_generation = model->newest.generation;
	model->snapshots.any_durable = true;
	model->waiting_ms = 0;
	set_durable(model, &model->newest);
}

void job_note_late_answer(struct job_model *model)
{
	model->gang.answered = model->gang.excused = true;
}

struct outcome_facts job_outcome_facts(const struct job_model *model, const struct job_rules *rules,
				       const struct job_view *view, enum unsaved_work unsaved)
{
	struct outcome_facts facts = model->facts;
	bool torn = unsaved != UNSAVED_NOTHING;
	int64_t first_answer_ms = model->asking.first_answer_ms;
	bool asked_its_way = model->asking.by_flag || job_can_request(rules, view);
	/* Only the job knows whether SIGTERM asks it to save: it did if a save was begun and is
	 * torn. Of a gang, what a job has saved counts, and not what it was asked for: it makes no
	 * step without the jobs of the others, which may have ended before it could answer. */
	bool in_vain = !rules->of_gang && facts.noticed && model->asking.sent_ms > 0 &&
		       !model->asking.answered && (asked_its_way || (torn && view->any_rank));
	/* Of a gang, what was asked for counts: a later one of this member alone is of no use. */
	bool answered = model->gang.excused && facts.noticed;
	/* Running files are all that this job has written, or the last that it wrote. */
	bool tail = model->attempt == ATTEMPT_CLAIMED && job_has_running_tail(model, view) &&
		    (!model->any_complete || !facts.noticed) && !answered;
	/* Its metrics are saved, and there is no checkpoint. */
	bool none = !model->any_complete && facts.noticed && !answered && facts.managed &&
		    model->newest.curves_only;
	bool pending = job_has_pending(model) && !answered;
	/* The job saved in another directory: its work since the start is in no snapshot. */
	bool elsewhere = view->saves_elsewhere && !view->gang_has_saved && facts.noticed;
	/* Others of the gang save for it, and whether their newest is durable they say themselves.
	 */
	bool saved_for = view->gang_has_saved && !model->any_complete && !torn;
	bool stale;

	facts.of_gang = rules->of_gang;
	facts.asked = model->asking.sent_ms > 0 || first_answer_ms > 0;
	facts.lived_on_ms = first_answer_ms > 0 ? model->flush.began_ms - first_answer_ms : 0;
	/* Also after the notice was withdrawn: the job has heard the request, and not that. */
	facts.saved = model->asking.answered || first_answer_ms > 0;
	facts.went_on = model->asking.answers > 1;
	facts.asked_to_save = model->asking.sent_ms > 0 && asked_its_way;
	facts.goes_on = rules->zero_is_finished;
	/* A save that the end has cut is what a preemption costs a job that cannot be asked. One
	 * that it went on after is work that it took for saved. A job that has finished is started
	 * again for it. */
	stale = unsaved == UNSAVED_SAVES && (facts.noticed || outcome_may_be_leaving(&facts));
	if (pending || tail || none || stale || elsewhere || model->gang.lost)
		facts.all_durable = false;
	else if ((in_vain && !saved_for) || model->attempt != ATTEMPT_CLAIMED || !facts.managed)
		/* A stop before anything was saved: nothing is durable, whoever asked. */
		facts.all_durable = !facts.managed && !facts.noticed;
	else
		facts.all_durable = model->snapshots.any_durable || saved_for || !facts.noticed;
	return facts;
}
