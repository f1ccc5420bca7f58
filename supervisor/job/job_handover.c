/*
 * At a notice, writes into the store until when this attempt may still commit. A next attempt that
 * starts early then waits instead of taking over (restore/predecessor_wait.h). It has a thread of
 * its own, so that it waits for no upload and no webhook, and they do not wait for it.
 */
#include "base/clock.h"
#include "base/log.h"
#include "job.h"
#include "restore/restore.h"

/* For one message. The notice's time is needed for the checkpoint. */
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

static void notify(struct job *job);

static void on_notified(void *arg)
{
	struct job *job = arg;
	struct next_attempt *next_attempt = &job->next_attempt;

	next_attempt->sending = false;
	if (next_attempt->failed)
		log_debug("cannot tell the next attempt about the notice: %s",
			  next_attempt->err.text);
	if (next_attempt->told_ms > 0)
		loop_arm(&job->loop, &next_attempt->again,
			 clock_monotonic_ms() + PREDECESSOR_HEARTBEAT_MS);
	/* The deadline may have changed since. */
	notify(job);
}

static void on_heartbeat_due(struct timer *timer)
{
	struct job *job = container_of(timer, struct job, next_attempt.again);

	job->next_attempt.due = true;
	notify(job);
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

static void notify(struct job *job)
{
	struct next_attempt *next_attempt = &job->next_attempt;

	if ((next_attempt->until_ms == next_attempt->told_ms && !next_attempt->due) ||
	    next_attempt->sending || !prepare_notify_worker(job))
		return;
	loop_disarm(&job->loop, &next_attempt->again);
	next_attempt->again.fired = on_heartbeat_due;
	next_attempt->due = false;
	next_attempt->sending = true;
	next_attempt->told_ms = next_attempt->until_ms;
	next_attempt->messages++;
	cancel_set_deadline(&next_attempt->cancel, clock_monotonic_ms() + NOTIFY_MS);
	workers_run(next_attempt->workers, notify_worker, on_notified, job);
}

void job_notify_next_attempt(struct job *job, int64_t until_ms)
{
	job->next_attempt.until_ms = until_ms;
	notify(job);
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
