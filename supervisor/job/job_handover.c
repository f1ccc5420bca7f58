/*
 * At a notice: the next attempt is told, in the store, for how long this one may still commit, so
 * that one which starts early waits instead of taking over (predecessor_wait.h). On a thread of its
 * own, because neither the save nor a webhook may wait for it or keep it waiting.
 */
#include "base/clock.h"
#include "base/log.h"
#include "job.h"
#include "restore/restore.h"

/* What a store does not take by then was not worth more of the notice. */
#define NOTIFY_MS 5000

static void notify_worker(void *arg)
{
	struct job *job = arg;
	struct next_attempt *next_attempt = &job->next_attempt;

	next_attempt->failed =
		storage_announce_drain(job->resume.storage, job->resume.attempt.number,
				       next_attempt->messages,
				       next_attempt->told_ms ? clock_left_ms(next_attempt->told_ms)
							     : -1,
				       &next_attempt->cancel, &next_attempt->err) < 0;
}

static void on_notified(void *arg)
{
	struct job *job = arg;
	struct next_attempt *next_attempt = &job->next_attempt;

	next_attempt->sending = false;
	if (next_attempt->failed)
		log_debug("the next attempt is not told of this one's notice: %s",
			  next_attempt->err.text);
	if (next_attempt->told_ms > 0)
		loop_arm(&job->loop, &next_attempt->again,
			 clock_monotonic_ms() + PREDECESSOR_HEARTBEAT_MS);
	/* It may have changed meanwhile. */
	job_notify_next_attempt(job);
}

static void on_heartbeat_due(struct timer *timer)
{
	struct job *job = container_of(timer, struct job, next_attempt.again);

	job->next_attempt.due = true;
	job_notify_next_attempt(job);
}

static bool prepare_notify_worker(struct job *job)
{
	struct next_attempt *next_attempt = &job->next_attempt;
	struct err err;

	if (next_attempt->workers)
		return true;
	if (cancel_init(&next_attempt->cancel, &err) < 0)
		return false;
	if (workers_new(&job->loop, 1, &next_attempt->workers, &err) == 0)
		return true;
	cancel_release(&next_attempt->cancel);
	return false;
}

void job_notify_next_attempt(struct job *job)
{
	struct next_attempt *next_attempt = &job->next_attempt;
	const struct notice *stop = notices_stop(&job->notices);
	int64_t until_ms = stop && stop->deadline_ms != CLOCK_NEVER ? stop->deadline_ms : 0;

	/* Withdrawn too late for a job that was told to end: it still saves. */
	if (until_ms == 0 && job->state != JOB_RUNNING)
		return;
	if ((until_ms == next_attempt->told_ms && !next_attempt->due) || next_attempt->sending ||
	    !job->snapshots || job->superseded || !prepare_notify_worker(job))
		return;
	loop_disarm(&job->loop, &next_attempt->again);
	next_attempt->again.fired = on_heartbeat_due;
	next_attempt->due = false;
	next_attempt->sending = true;
	next_attempt->told_ms = until_ms;
	next_attempt->messages++;
	cancel_set_deadline(&next_attempt->cancel, clock_monotonic_ms() + NOTIFY_MS);
	workers_run(next_attempt->workers, notify_worker, on_notified, job);
}

void job_stop_notifying_next_attempt(struct job *job)
{
	struct next_attempt *next_attempt = &job->next_attempt;

	if (!next_attempt->workers)
		return;
	loop_disarm(&job->loop, &next_attempt->again);
	cancel_raise(&next_attempt->cancel);
	workers_free(next_attempt->workers);
	next_attempt->workers = NULL;
	cancel_release(&next_attempt->cancel);
}
