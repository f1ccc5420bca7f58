/*
 * At a notice: the next attempt is told, in the store, for how long this one may still commit, so that one which starts early waits instead
 * of taking over (predecessor_wait.h). On a thread of its own, because neither the save nor a webhook may wait for it or keep it waiting.
 */
#include "base/clock.h"
#include "base/log.h"
#include "restore/restore.h"
#include "job.h"

/* What a store does not take by then was not worth more of the notice. */
#define TELL_MS 5000

static void tell(void *arg)
{
	struct job *job = arg;
	struct successor *successor = &job->successor;

	successor->failed = storage_say_draining(job->resume.storage, job->resume.attempt.number,
				    successor->words,
				    successor->told_ms ? clock_left_ms(successor->told_ms) : -1,
				    &successor->cancel, &successor->err) < 0;
}

static void told(void *arg)
{
	struct job *job = arg;
	struct successor *successor = &job->successor;

	successor->telling = false;
	if (successor->failed)
		log_debug("the next attempt is not told of this one's notice: %s",
			successor->err.text);
	if (successor->told_ms > 0)
		loop_arm(&job->loop, &successor->again, clock_monotonic_ms() + HANDOVER_AGAIN_MS);
	/* It may have changed meanwhile. */
	job_tell_successor(job);
}

static void say_again(struct timer *timer)
{
	struct job *job = container_of(timer, struct job, successor.again);

	job->successor.due = true;
	job_tell_successor(job);
}

static bool prepare(struct job *job)
{
	struct successor *successor = &job->successor;
	struct err err;

	if (successor->workers)
		return true;
	if (cancel_init(&successor->cancel, &err) < 0)
		return false;
	if (workers_new(&job->loop, 1, &successor->workers, &err) == 0)
		return true;
	cancel_release(&successor->cancel);
	return false;
}

void job_tell_successor(struct job *job)
{
	struct successor *successor = &job->successor;
	const struct notice *stop = notices_stop(&job->notices);
	int64_t until_ms = stop && stop->deadline_ms != CLOCK_NEVER ? stop->deadline_ms : 0;

	/* Withdrawn too late for a job that was told to end: it still saves. */
	if (until_ms == 0 && job->state != JOB_RUNNING)
		return;
	if ((until_ms == successor->told_ms && !successor->due) || successor->telling ||
		!job->snapshots || job->superseded || !prepare(job))
		return;
	loop_disarm(&job->loop, &successor->again);
	successor->again.fired = say_again;
	successor->due = false;
	successor->telling = true;
	successor->told_ms = until_ms;
	successor->words++;
	cancel_set_deadline(&successor->cancel, clock_monotonic_ms() + TELL_MS);
	workers_run(successor->workers, tell, told, job);
}

void job_end_telling_successor(struct job *job)
{
	struct successor *successor = &job->successor;

	if (!successor->workers)
		return;
	loop_disarm(&job->loop, &successor->again);
	cancel_raise(&successor->cancel);
	workers_free(successor->workers);
	successor->workers = NULL;
	cancel_release(&successor->cancel);
}
