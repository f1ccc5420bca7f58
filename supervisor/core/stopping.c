/*
 * A notice, and what follows. The time that is left is divided (planning/planning.c), and
 * spent on certainty: a job is not ended while a save is under way, or due in time.
 *
 * Who sends SIGTERM waits for the end. If no process of the job handles it, it would tear the save
 * under way, or lose the work since the last one: it is forwarded once that save is complete, or
 * the next one if it is due in time. Any other notice says when the machine goes, and what the job
 * saves until then counts: it trains on until no further save is due in time, which loses least.
 *
 * A job that has answered a notice is told to end when its directory has settled, because a small
 * file may follow that names the checkpoint; at once, if it has itself called the checkpoint
 * complete. The table of the job's life at the end says what is done when.
 */
#include "step.h"

/* A job that has saved gets this long to exit after SIGTERM, even if the notice would allow more.
 */
#define STOP_PATIENCE_MS 10000
#define KILL_AGAIN_MS 1000
#define KILL_CHECK_MS 100
#define NEXT_SAVE_CHECK_MS 100
#define DEFERRAL_CHECK_MS 100
#define SETTLING_CHECK_MS 20
/* A job that writes on and on is told to end after this time, or this share of what is left. */
#define SETTLING_MOST_MS 5000
#define SETTLING_SHARE 4
/* What a job does that was not asked is lost from its last save on, so its directory settles within
 * this share of the time between two saves. */
#define STILL_SHARE 10
#define STILL_LEAST_MS 50

void tell_next_attempt(const struct step *step)
{
	const struct job_model *model = step->model;
	int64_t until_ms = model->stop.deadline_ms == CLOCK_NEVER ? 0 : model->stop.deadline_ms;

	/* The notice was withdrawn, but too late: the job is ending and still saves. */
	if (until_ms == 0 && model->state != JOB_RUNNING)
		return;
	if (job_can_save(model))
		act_at(step, JOB_DO_TELL_NEXT_ATTEMPT, until_ms);
}

/* --- the time --- */

/* The job's checkpoint is complete, or no stop is announced any more. A job that only got a
 * forwarded SIGTERM may still be cleaning up, so it keeps its time. */
static bool needs_no_more_time(const struct step *step)
{
	return step->rules->ask != REQUEST_AUTO &&
	       (step->model->asking.answered || !step->model->stop.stands);
}

/* CLOCK_NEVER: no end is known, so that nothing is cut short. */
static int64_t kill_due_ms(const struct step *step)
{
	const struct job_model *model = step->model;
	bool done = needs_no_more_time(step);
	int64_t closed_ms = done ? 0 : step->view->directory.closed_ms, at_ms = CLOCK_NEVER;

	if (model->stop.stands)
		at_ms = deadline_budget_kill_ms(&model->budget, model->told_ms,
						job_has_pending(model), closed_ms);
	return done ? earlier_of(at_ms, model->stopping_ms + STOP_PATIENCE_MS) : at_ms;
}

/* When the other processes get SIGTERM too: the main process may be waiting for them. */
static int64_t rest_due_ms(const struct step *step)
{
	int64_t since_ms = step->model->stopping_ms, kill_ms = kill_due_ms(step);

	if (kill_ms == CLOCK_NEVER)
		kill_ms = since_ms + STOP_PATIENCE_MS;
	return deadline_budget_rest_ms(since_ms, kill_ms, step->view->directory.saving);
}

/* No event says that the job has closed what it was writing, so it is looked for. */
static int64_t stopping_due_ms(const struct step *step)
{
	const struct job_model *model = step->model;
	int64_t now_ms = step->view->now_ms, check_ms = now_ms + KILL_CHECK_MS;
	int64_t at_ms = kill_due_ms(step);

	/* One SIGKILL ends a process, unless it hangs in the kernel. Children that it has forked
	 * since need another. */
	if (model->killed)
		return now_ms + KILL_AGAIN_MS;
	if (!model->rest_told)
		at_ms = earlier_of(at_ms,
				   step->view->directory.saving ? check_ms : rest_due_ms(step));
	if (model->stop.stands && !needs_no_more_time(step))
		at_ms = earlier_of(at_ms, check_ms < model->budget.stop_until_ms
						  ? model->budget.stop_until_ms
						  : check_ms);
	return at_ms;
}

static void arm_budget(const struct step *step)
{
	const struct job_model *model = step->model;
	int64_t at_ms = CLOCK_NEVER;

	if (model->stop.stands && model->state == JOB_CHECKPOINTING)
		at_ms = model->budget.ask_until_ms;
	else if (model->state == JOB_STOPPING)
		at_ms = stopping_due_ms(step);
	else if (model->stop.stands && model->state == JOB_UPLOADING)
		at_ms = model->budget.commit_until_ms;
	arm(step, TIMER_BUDGET, at_ms);
}

/* The forecast if a stop were announced now; `asks`: the job can be asked. */
static struct preemption_facts forecast_at_stop(const struct step *step, bool asks)
{
	const struct job_model *model = step->model;
	struct preemption_facts facts = job_forecast(model, step->rules, step->view);
	/* It may have begun before the newest checkpoint was complete. */
	int64_t began_ms = model->measured.saving_ms > 0 ? model->measured.saving_ms
							 : model->newest.completed_ms;

	facts.can_ask = asks;
	facts.trains_on = model->stop.stands && !model->stop.by_sigterm;
	if (step->view->directory.saving)
		facts.saving_for_ms = step->view->now_ms - began_ms;
	return facts;
}

/* Without anybody to ask, the plan would be to wait for the save under way, or for the next one. */
static bool awaits_a_save(const struct step *step)
{
	struct preemption_facts facts = forecast_at_stop(step, false);
	enum preemption_plan plan = preemption_forecast_choose(&facts);

	return plan == PREEMPTION_AWAIT_SAVE || plan == PREEMPTION_AWAIT_NEXT ||
	       plan == PREEMPTION_AWAIT_FIRST;
}

static void update_plan(const struct step *step)
{
	struct job_model *model = step->model;
	struct preemption_facts facts =
		forecast_at_stop(step, job_can_request_or_signal(step->rules, step->view));
	enum preemption_plan plan = preemption_forecast_choose(&facts);

	/* A command that saves no checkpoints needs no plan. */
	if (model->attempt != ATTEMPT_CLAIMED || !model->facts.launched ||
	    (model->plan.made && plan == model->plan.choice))
		return;
	model->plan.made = true;
	model->plan.choice = plan;
	model->plan.facts = facts;
	say(step, SAY_PLAN);
}

static void divide_the_time(const struct step *step)
{
	struct job_model *model = step->model;

	/* From now on the checkpoint comes first: full bandwidth, no retention. */
	if (model->stop.stands)
		act(step, JOB_DO_HURRY_STORE);
	if (model->stop.stands && model->snapshots.retaining)
		act(step, JOB_DO_STOP_RETENTION);
	if (model->stop.deadline_ms == CLOCK_NEVER) {
		/* All notices were withdrawn, or no end is known: nothing is cut short. */
		model->budget.commit_until_ms = CLOCK_NEVER;
	} else {
		model->budget = deadline_budget_split(step->view->now_ms, model->stop.deadline_ms,
						      model->measured.upload_ms);
		update_plan(step);
	}
	act_at(step, JOB_DO_SET_COMMIT_DEADLINE, model->budget.commit_until_ms);
}

static void tell_rest(const struct step *step)
{
	if (!step->model->rest_told)
		act(step, JOB_DO_TERMINATE_REST);
	step->model->rest_told = true;
}

static void on_stopping_due(const struct step *step)
{
	if (step->model->killed || step->view->now_ms >= kill_due_ms(step)) {
		live(step, EV_BUDGET_SPENT);
		return;
	}
	if (step->view->now_ms >= rest_due_ms(step))
		tell_rest(step);
	arm_budget(step);
}

void on_budget_due(const struct step *step)
{
	struct job_model *model = step->model;
	int64_t now_ms = step->view->now_ms, stop_ms = model->budget.stop_until_ms;
	bool waits = model->state == JOB_CHECKPOINTING && now_ms < stop_ms;

	if (leave_gang_at_once(step))
		return;
	/* A save is under way: it gets the time that was reserved for exiting. So does the next
	 * save of a job that was not told anything, if it is due by then. */
	if (waits && step->view->directory.saving)
		arm(step, TIMER_BUDGET, stop_ms);
	else if (waits && model->asking.sent_ms == 0 && awaits_a_save(step))
		arm(step, TIMER_BUDGET, earlier_of(now_ms + NEXT_SAVE_CHECK_MS, stop_ms));
	else if (model->state == JOB_STOPPING)
		on_stopping_due(step);
	else
		live(step, EV_BUDGET_SPENT);
}

/* --- a SIGTERM that is not a request --- */

/* A plain entrypoint does the same: the job decides what SIGTERM means. It may be a request to
 * save, so it counts as one. */
static void forward_sigterm(const struct step *step)
{
	struct job_model *model = step->model;

	model->facts.told_to_end = true;
	model->asking.by_flag = false;
	model->asking.forwarded = true;
	model->asking.sent_ms = step->view->now_ms;
	requests_note_forwarded(step);
	act(step, JOB_DO_FORWARD_SIGTERM);
}

static void forward_deferred(const struct step *step)
{
	cancel_deferral(step);
	forward_sigterm(step);
}

void cancel_deferral(const struct step *step)
{
	if (!step->model->deferral.awaited)
		return;
	step->model->deferral.awaited = false;
	disarm(step, TIMER_SETTLING);
}

bool end_deferral(const struct step *step)
{
	if (!step->model->deferral.awaited || !step->view->child_running)
		return false;
	forward_deferred(step);
	return true;
}

/* It would tear the save under way, or lose the work since the last one. */
void forward_sigterm_in_time(const struct step *step)
{
	struct job_model *model = step->model;

	if (!awaits_a_save(step)) {
		forward_sigterm(step);
		return;
	}
	model->deferral.facts = forecast_at_stop(step, false);
	model->deferral.awaited = true;
	model->deferral.saves = 0;
	model->settling_until_ms = 0;
	/* The job does not know about the stop yet, so an exit before that is its own decision. */
	model->facts.told_to_end = false;
	say(step, SAY_DEFERRED);
	arm(step, TIMER_SETTLING, step->view->now_ms + DEFERRAL_CHECK_MS);
}

void note_awaited_save(const struct step *step)
{
	/* The child is gone if its exit made the save complete. */
	if (!step->model->deferral.awaited || !step->view->child_running)
		return;
	step->model->deferral.saves++;
	arm(step, TIMER_SETTLING, step->view->now_ms);
}

/* Nothing was written for `still_ms`, or the time for that is over. What the save is known to write
 * yet may take longer; the budget bounds that. */
static bool has_settled(const struct step *step, int64_t still_ms)
{
	const struct directory_view *directory = &step->view->directory;
	int64_t now_ms = step->view->now_ms;

	return (now_ms >= step->model->settling_until_ms && directory->partners_until_ms == 0) ||
	       (!directory->saving && now_ms - directory->last_write_ms >= still_ms);
}

/* Until when the directory may settle. */
static int64_t settling_until_ms(const struct step *step)
{
	int64_t now_ms = step->view->now_ms;
	int64_t left_ms = step->model->budget.ask_until_ms - now_ms;

	return now_ms + earlier_of(SETTLING_MOST_MS, left_ms / SETTLING_SHARE);
}

static int64_t unasked_still_ms(const struct step *step)
{
	int64_t quiet_ms = step->rules->quiet_ms;
	int64_t gap_ms = step->model->measured.rhythm.gap_ms, share_ms = gap_ms / STILL_SHARE;

	if (gap_ms == 0 || share_ms >= quiet_ms)
		return quiet_ms;
	return share_ms > STILL_LEAST_MS ? share_ms : STILL_LEAST_MS;
}

/* A save may end without a complete checkpoint: torn, or its files deleted. And the next one may
 * not come. No event says so, so it is looked for. */
static bool may_forward(const struct step *step)
{
	struct job_model *model = step->model;
	unsigned saves = model->deferral.saves;

	/* The awaited save is complete. Another one that has begun by then is waited for too, but
	 * only one: a job may save all the time. */
	if (model->settling_until_ms == 0 &&
	    (saves > 1 || (saves == 1 && !step->view->directory.saving)))
		model->settling_until_ms = settling_until_ms(step);
	if (model->settling_until_ms > 0)
		return has_settled(step, unasked_still_ms(step));
	return saves == 0 && !awaits_a_save(step);
}

/* A job that cannot be asked has trained on, at a notice that is no SIGTERM, and the last moment to
 * wait for a save that has not begun is over (planning.c). The best moment to end it is
 * right after this one: any later one loses work, and may tear the next save. */
void end_after_save(const struct step *step)
{
	const struct job_model *model = step->model;

	if (model->state == JOB_CHECKPOINTING && model->stop.stands &&
	    !step->view->directory.saving && model->asking.sent_ms == 0 &&
	    !model->deferral.awaited && step->view->now_ms >= model->budget.ask_until_ms)
		live(step, EV_CHECKPOINT_COMPLETE);
}

/* --- after the answer --- */

static bool may_end(const struct step *step)
{
	const struct directory_view *directory = &step->view->directory;
	/* The commit comes first, while it can. */
	bool waits = step->view->gang_needs_job && !step->model->gang.answered &&
		     step->view->now_ms < step->model->budget.ask_until_ms;

	if (waits)
		return false;
	/* By its word nothing follows. */
	return (directory->own_word && !directory->saving) ||
	       (directory->unknown_until_ms == 0 && has_settled(step, step->rules->quiet_ms));
}

void on_settling_due(const struct step *step)
{
	const struct job_model *model = step->model;
	bool deferred = model->deferral.awaited;

	if (deferred && may_forward(step))
		forward_deferred(step);
	else if (!deferred && may_end(step))
		live(step, EV_CHECKPOINT_COMPLETE);
	else
		arm(step, TIMER_SETTLING,
		    step->view->now_ms + (deferred && model->settling_until_ms == 0
						  ? DEFERRAL_CHECK_MS
						  : SETTLING_CHECK_MS));
}

/* A small file may follow that names the checkpoint. */
void settle(const struct step *step)
{
	if (step->model->state != JOB_CHECKPOINTING)
		return;
	step->model->settling_until_ms = settling_until_ms(step);
	arm(step, TIMER_SETTLING, step->view->now_ms + SETTLING_CHECK_MS);
}

/* --- asking at a notice --- */

/* The plan is to finish the upload under way, or due now, first: continue_plan() asks the job
 * afterwards. */
static bool uploads_first(const struct step *step)
{
	struct job_model *model = step->model;
	bool comes = model->snapshots.in_flight || model->due_ms[TIMER_SNAPSHOT] != CLOCK_NEVER;

	model->plan.upload_first =
		model->plan.made && comes && model->plan.choice == PREEMPTION_FINISH_UPLOAD &&
		job_can_request_or_signal(step->rules, step->view);
	return model->plan.upload_first;
}

static void ask_at_notice(const struct step *step)
{
	struct job_model *model = step->model;
	bool cannot_ask =
		step->rules->ask == REQUEST_NONE && !asks_by_flag(step->rules, step->view);

	if (uploads_first(step))
		return;
	if (cannot_ask && model->stop.by_sigterm) {
		forward_sigterm_in_time(step);
	} else if (cannot_ask) {
		say(step, SAY_NOT_ASKED);
	} else {
		request_checkpoint(step, SAVED_AT_NOTICE);
		/* Until it is asked, an exit is its own decision. */
		model->facts.told_to_end = model->requests.asking == ASKING_SENT;
	}
}

void continue_plan(const struct step *step)
{
	struct job_model *model = step->model;

	if (!model->plan.upload_first || model->state != JOB_CHECKPOINTING)
		return;
	model->plan.upload_first = false;
	update_plan(step);
	ask_at_notice(step);
}

/* --- what the table of the job's life says --- */

static void request_at_notice(const struct step *step)
{
	divide_the_time(step);
	act(step, JOB_DO_HOLD_SIGTERM);
	/* What waited for the interval between two snapshots waits no more. */
	pace_snapshots(step);
	ask_at_notice(step);
}

static void withdraw_request(const struct step *step)
{
	struct job_model *model = step->model;

	say(step, SAY_WITHDRAWN);
	requests_withdraw(step);
	cancel_deferral(step);
	disarm(step, TIMER_SETTLING);
	model->plan.made = model->plan.upload_first = false;
	model->facts.noticed = model->facts.told_to_end = false;
	act(step, JOB_DO_UNHOLD_SIGTERM);
	act(step, JOB_DO_CALM_STORE);
	act_at(step, JOB_DO_SET_COMMIT_DEADLINE, CLOCK_NEVER);
	/* Its upload was given up for want of time. */
	if (model->attempt == ATTEMPT_CLAIMED && job_has_pending(model) &&
	    !model->snapshots.in_flight)
		queue_snapshot(step);
}

static void stop_asking_for_good(const struct step *step)
{
	requests_stop(step);
	cancel_deferral(step);
	disarm(step, TIMER_SETTLING);
}

static void stop_child(const struct step *step)
{
	struct job_model *model = step->model;
	bool knows = model->facts.told_to_end && job_asked_by_sigterm(model, step->rules);

	stop_asking_for_good(step);
	model->facts.told_to_end = true;
	model->stopping_ms = step->view->now_ms;
	model->told_ms = knows ? model->asking.sent_ms : step->view->now_ms;
	if (!knows) {
		model->facts.stopped = true;
		act(step, JOB_DO_TERMINATE);
	}
	/* A job that was asked by SIGTERM and has answered gets no second one, not even one that
	 * was held back: that kills trainers which restore the default handler after the first. */
	if (!knows || !model->asking.answered)
		act(step, JOB_DO_RELEASE_SIGTERM);
}

static void kill_child(const struct step *step)
{
	tell_rest(step);
	if (!step->model->killed)
		say(step, SAY_KILLING);
	step->model->killed = step->model->facts.stopped = true;
	act(step, JOB_DO_KILL);
}

static void flush_snapshots(const struct step *step)
{
	act(step, JOB_DO_RELEASE_SIGTERM);
	stop_asking_for_good(step);
	flush(step);
}

static void cancel_snapshots(const struct step *step)
{
	if (!step->model->flush.given_up && !step->model->flush.interrupted)
		say(step, SAY_OUT_OF_TIME);
	act(step, JOB_DO_CANCEL);
}

/* --- the table of the job's life --- */

static void launch_child(const struct step *step)
{
	act(step, JOB_DO_LAUNCH);
}

static void cancel_restore(const struct step *step)
{
	act(step, JOB_DO_CANCEL);
}

/* What is not listed changes nothing. */
struct transition {
	bool listed;
	void (*act)(const struct step *step); /* NULL: nothing is done */
	enum job_state next;
};

#define ON(event, action, next) [event] = {true, action, next}

// clang-format off
static const struct transition transitions[JOB_STATES][LIFE_EVENTS] = {
	[JOB_RESTORING] = {
		ON(JOB_EV_RESTORED,            launch_child,      JOB_RUNNING),
		ON(JOB_EV_START_FAILED,        NULL,              JOB_OVER),
		/* The job has not started, so nothing can be lost: leave at once. */
		ON(JOB_EV_STOP_ANNOUNCED,              cancel_restore,    JOB_OVER),
	},
	[JOB_RUNNING] = {
		ON(JOB_EV_START_FAILED,        NULL,              JOB_OVER),
		ON(JOB_EV_STOP_ANNOUNCED,              request_at_notice, JOB_CHECKPOINTING),
		ON(JOB_EV_CHILD_EXITED,        flush_snapshots,   JOB_UPLOADING),
	},
	[JOB_CHECKPOINTING] = {
		ON(JOB_EV_START_FAILED,        NULL,              JOB_OVER),
		ON(JOB_EV_STOP_ANNOUNCED,              divide_the_time,   JOB_CHECKPOINTING),
		ON(JOB_EV_STOP_CANCELLED,           withdraw_request,  JOB_RUNNING),
		ON(EV_CHECKPOINT_COMPLETE, stop_child,        JOB_STOPPING),
		ON(EV_BUDGET_SPENT,        stop_child,        JOB_STOPPING),
		ON(JOB_EV_CHILD_EXITED,        flush_snapshots,   JOB_UPLOADING),
	},
	[JOB_STOPPING] = {
		ON(JOB_EV_START_FAILED,        NULL,              JOB_OVER),
		ON(JOB_EV_STOP_ANNOUNCED,              divide_the_time,   JOB_STOPPING),
		ON(JOB_EV_STOP_CANCELLED,           divide_the_time,   JOB_STOPPING),
		ON(EV_BUDGET_SPENT,        kill_child,        JOB_STOPPING),
		ON(JOB_EV_CHILD_EXITED,        flush_snapshots,   JOB_UPLOADING),
	},
	[JOB_UPLOADING] = {
		ON(JOB_EV_STOP_ANNOUNCED,              divide_the_time,   JOB_UPLOADING),
		ON(JOB_EV_STOP_CANCELLED,           divide_the_time,   JOB_UPLOADING),
		ON(EV_UPLOADED,            NULL,              JOB_OVER),
		ON(EV_BUDGET_SPENT,        cancel_snapshots,  JOB_OVER),
	},
};
// clang-format on

void live(const struct step *step, int event)
{
	struct job_model *model = step->model;
	const struct transition *found = &transitions[model->state][event];
	enum job_state next = found->listed ? found->next : model->state;
	bool moved = next != model->state;

	if (event == JOB_EV_STOP_ANNOUNCED && model->state == JOB_UPLOADING &&
	    !model->facts.noticed)
		model->facts.noticed_late = true;
	if (event == JOB_EV_STOP_ANNOUNCED)
		model->facts.noticed = true;
	model->state = next;
	if (found->act)
		found->act(step);
	/* The action led on to the next state. */
	if (model->state != next)
		return;
	if (moved || found->act == divide_the_time || event == EV_BUDGET_SPENT)
		arm_budget(step);
	if (moved && model->state == JOB_OVER)
		act(step, JOB_DO_END);
}
