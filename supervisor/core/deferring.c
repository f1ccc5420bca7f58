/*
 * Time that is left is spent on certainty. A SIGTERM that no process of the job handles would tear
 * the save under way, or lose the work since the last one: it is forwarded once that save is
 * complete, or the next one if it is due in time. A job that has answered a notice is told to end
 * when its directory has settled, because a small file may follow that names the checkpoint; at
 * once, if it has itself called the checkpoint complete.
 */
#include "step.h"

#define DEFERRAL_CHECK_MS 100
#define SETTLING_CHECK_MS 20
/* A job that writes on and on is told to end after this time, or this share of what is left. */
#define SETTLING_MOST_MS 5000
#define SETTLING_SHARE 4
/* What a job does that was not asked is lost from its last save on, so its directory settles within
 * this share of the time between two saves. */
#define STILL_SHARE 10
#define STILL_LEAST_MS 50

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

/* The awaited save is complete. Another one that has begun by then is waited for too, but only one:
 * a job may save all the time. */
static bool has_awaited_save(const struct step *step)
{
	unsigned saves = step->model->deferral.saves;

	return saves > 1 || (saves == 1 && !step->view->directory.saving);
}

/* A save may end without a complete checkpoint: torn, or its files deleted. And the next one may
 * not come. No event says so, so it is looked for. */
static bool may_forward(const struct step *step)
{
	struct job_model *model = step->model;

	if (model->settling_until_ms == 0 && has_awaited_save(step))
		model->settling_until_ms = settling_until_ms(step);
	if (model->settling_until_ms > 0)
		return has_settled(step, unasked_still_ms(step));
	return model->deferral.saves == 0 && !awaits_a_save(step);
}

/* A job that cannot be asked has trained on, at a notice that is no SIGTERM, and the last moment to
 * wait for a save that has not begun is over (deadline_budget.c). The best moment to end it is
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
