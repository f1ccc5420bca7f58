/* Delays a SIGTERM that no process of the job handles: it would only tear the save under way, so it
 * is forwarded once that save is complete. */
#include "base/clock.h"
#include "base/log.h"
#include "job.h"

#define DEFERRAL_CHECK_MS 100

static void forward_deferred_sigterm(struct job *job)
{
	job_cancel_sigterm_deferral(job);
	job_forward_sigterm(job);
}

/* A save may end without a complete checkpoint: torn, or its files deleted. No event says so, so
 * the state is polled. */
static void on_deferral_check(struct timer *timer)
{
	struct job *job = container_of(timer, struct job, sigterm_deferral.timer);

	if (job_is_saving(job))
		loop_arm(&job->loop, timer, clock_monotonic_ms() + DEFERRAL_CHECK_MS);
	else
		forward_deferred_sigterm(job);
}

bool job_defer_sigterm(struct job *job)
{
	if (!job_plans_to_await_save(job))
		return false;
	log_note("a save is in progress: SIGTERM is forwarded when it completes (send SIGTERM "
		 "again to forward now)");
	job->sigterm_deferral.awaited = true;
	/* The job does not know about the stop yet, so an exit before that is its own decision. */
	job->facts.told_to_end = false;
	job->sigterm_deferral.timer.fired = on_deferral_check;
	loop_arm(&job->loop, &job->sigterm_deferral.timer,
		 clock_monotonic_ms() + DEFERRAL_CHECK_MS);
	return true;
}

bool job_end_sigterm_deferral(struct job *job)
{
	/* The child is gone if its exit made the save complete. */
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
