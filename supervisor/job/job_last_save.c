/* Time that is left is spent on certainty. A job that has answered a notice is told to end when its
 * directory has settled, because a small file may follow that names the checkpoint. A SIGTERM that
 * no process of the job handles would tear the save under way, or lose the work since the last one:
 * it is forwarded once that save is complete, or the next one if it is due in time. */
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "job.h"

#include <stdio.h>

#define DEFERRAL_CHECK_MS 100
#define SETTLING_CHECK_MS 20
/* A job that writes on and on is told to end after this time, or this share of what is left. */
#define SETTLING_MOST_MS 5000
#define SETTLING_SHARE 4
/* What a job does that was not asked is lost from its last save on, so its directory settles within
 * this share of the time between two saves. */
#define STILL_SHARE 10
#define STILL_LEAST_MS 50

/* Nothing was written for `still_ms`. */
static bool is_still(struct job *job, int64_t still_ms)
{
	return !job->tracker ||
	       (!tracker_is_saving(job->tracker) &&
		clock_monotonic_ms() - tracker_last_write_ms(job->tracker) >= still_ms);
}

/* Until when the directory may settle. */
static int64_t settling_until_ms(const struct job *job)
{
	int64_t now_ms = clock_monotonic_ms(), most_ms = SETTLING_MOST_MS;

	if (job->budget.ask_until_ms - now_ms < most_ms * SETTLING_SHARE)
		most_ms = (job->budget.ask_until_ms - now_ms) / SETTLING_SHARE;
	return now_ms + most_ms;
}

/* --- after the answer --- */

static void on_settling_check(struct timer *timer)
{
	struct job *job = container_of(timer, struct job, settling.timer);

	if (job->state != JOB_CHECKPOINTING)
		return;
	if (clock_monotonic_ms() >= job->settling.until_ms || is_still(job, job->options->quiet_ms))
		job_post_event(job, EV_CHECKPOINT_COMPLETE);
	else
		loop_arm(&job->loop, timer, clock_monotonic_ms() + SETTLING_CHECK_MS);
}

void job_settle(struct job *job)
{
	if (job->state != JOB_CHECKPOINTING) {
		job_post_event(job, EV_CHECKPOINT_COMPLETE);
		return;
	}
	job->settling.until_ms = settling_until_ms(job);
	job->settling.timer.fired = on_settling_check;
	loop_arm(&job->loop, &job->settling.timer, clock_monotonic_ms() + SETTLING_CHECK_MS);
}

/* --- a SIGTERM that is not a request --- */

static void forward_deferred_sigterm(struct job *job)
{
	job_cancel_sigterm_deferral(job);
	job_forward_sigterm(job);
}

static int64_t still_ms(const struct job *job)
{
	int64_t quiet_ms = job->options->quiet_ms, share_ms = job->pace.rhythm.gap_ms / STILL_SHARE;

	if (job->pace.rhythm.gap_ms == 0 || share_ms >= quiet_ms)
		return quiet_ms;
	return share_ms > STILL_LEAST_MS ? share_ms : STILL_LEAST_MS;
}

/* The awaited save is complete. Another one that has begun by then is waited for too, but only one:
 * a job may save all the time. */
static bool has_awaited_save(struct job *job)
{
	return job->sigterm_deferral.saves > 1 ||
	       (job->sigterm_deferral.saves == 1 && !job_is_saving(job));
}

/* A save may end without a complete checkpoint: torn, or its files deleted. And the next one may
 * not come. No event says so, so the state is polled. */
static void on_deferral_check(struct timer *timer)
{
	struct job *job = container_of(timer, struct job, sigterm_deferral.timer);
	int64_t now_ms = clock_monotonic_ms(), *until_ms = &job->sigterm_deferral.until_ms;
	bool over;

	if (*until_ms == 0 && has_awaited_save(job))
		*until_ms = settling_until_ms(job);
	if (*until_ms > 0)
		over = now_ms >= *until_ms || is_still(job, still_ms(job));
	else
		over = job->sigterm_deferral.saves == 0 && !job_plans_to_await_save(job, NULL);
	if (over)
		forward_deferred_sigterm(job);
	else
		loop_arm(&job->loop, timer,
			 now_ms + (*until_ms > 0 ? SETTLING_CHECK_MS : DEFERRAL_CHECK_MS));
}

static void log_deferral(const struct job *job, int64_t due_ms)
{
	char time[32], next[64] = "the next save is due now";

	if (due_ms > 0)
		snprintf(next, sizeof(next), "the next save is due in %s",
			 text_duration(due_ms, time, sizeof(time)));
	log_note("%s: SIGTERM is forwarded when it completes (another SIGTERM, a second or more "
		 "later, forwards it now)",
		 job_is_saving(job) ? "a save is in progress" : next);
}

bool job_defer_sigterm(struct job *job)
{
	int64_t due_ms;

	if (!job_plans_to_await_save(job, &due_ms))
		return false;
	log_deferral(job, due_ms);
	job->sigterm_deferral.awaited = true;
	job->sigterm_deferral.saves = 0;
	job->sigterm_deferral.until_ms = 0;
	/* The job does not know about the stop yet, so an exit before that is its own decision. */
	job->facts.told_to_end = false;
	job->sigterm_deferral.timer.fired = on_deferral_check;
	loop_arm(&job->loop, &job->sigterm_deferral.timer,
		 clock_monotonic_ms() + DEFERRAL_CHECK_MS);
	return true;
}

void job_note_awaited_save(struct job *job)
{
	/* The child is gone if its exit made the save complete. */
	if (!job->sigterm_deferral.awaited || !job->child.running)
		return;
	job->sigterm_deferral.saves++;
	loop_arm(&job->loop, &job->sigterm_deferral.timer, clock_monotonic_ms());
}

bool job_end_sigterm_deferral(struct job *job)
{
	if (!job->sigterm_deferral.awaited || !job->child.running)
		return false;
	forward_deferred_sigterm(job);
	return true;
}

void job_cancel_sigterm_deferral(struct job *job)
{
	job->sigterm_deferral.awaited = false;
	loop_disarm(&job->loop, &job->sigterm_deferral.timer);
}
