/* A SIGTERM that nobody in the job handles would only tear the save under way: it waits until that is complete. */
#include "base/clock.h"
#include "base/log.h"
#include "job.h"

#define LOOK_AGAIN_MS 100

static void let_go(struct job *job)
{
	job_end_last_save(job);
	job_forward_sigterm(job);
}

/* A save also ends without a checkpoint: torn, or its files deleted. */
static void look_again(struct timer *timer)
{
	struct job *job = container_of(timer, struct job, last_save.timer);

	if (job_is_saving(job))
		loop_arm(&job->loop, timer, clock_monotonic_ms() + LOOK_AGAIN_MS);
	else
		let_go(job);
}

bool job_begin_last_save(struct job *job)
{
	if (!job_awaits_save(job))
		return false;
	log_note("the job is saving: it gets its SIGTERM after that, or at a second one to "
		 "reprieve");
	job->last_save.awaited = true;
	/* Nor has it been asked: what it does until then is its own doing. */
	job->facts.told_to_end = false;
	job->last_save.timer.fired = look_again;
	loop_arm(&job->loop, &job->last_save.timer, clock_monotonic_ms() + LOOK_AGAIN_MS);
	return true;
}

bool job_cut_last_save(struct job *job)
{
	/* Its last one may have become complete by its end. */
	if (!job->last_save.awaited || !job->child.running)
		return false;
	let_go(job);
	return true;
}

void job_end_last_save(struct job *job)
{
	job->last_save.awaited = false;
	loop_disarm(&job->loop, &job->last_save.timer);
}
