/* After the job's exit: waits until its last checkpoint is durable, for a limited time if the store
 * fails. */
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "job.h"

#define RETRY_MS 500
/* for an error that another try will hardly change */
#define TRIES_MOST 3
/* After the job's exit, the retention run of the last commit gets this long. */
#define RETENTION_MOST_MS 10000

/* A failing store is given up at this time. Every byte that it accepts postpones it. */
static int64_t flush_deadline_ms(const struct job *job)
{
	int64_t moved_ms = job->snapshots ? snapshot_queue_advanced_ms(job->snapshots) : 0;
	int64_t since = moved_ms > job->flush.began_ms ? moved_ms : job->flush.began_ms;

	return since + job->options->flush_ms;
}

static bool is_transient(enum err_kind kind)
{
	return kind == ERR_RETRY || kind == ERR_FAILED;
}

/* Gives up between tries, or in one that hangs; but not in the first one, because a store that is
 * slow has not failed. */
static void on_flush_timeout(struct timer *timer)
{
	struct job *job = container_of(timer, struct job, flush.timer);
	int64_t ends_ms = flush_deadline_ms(job);

	if (job->state != JOB_UPLOADING || notices_stop(&job->notices))
		return;
	if (clock_monotonic_ms() < ends_ms) {
		loop_arm(&job->loop, timer, ends_ms);
		return;
	}
	if (!job->store_failing && !job->resuming) {
		loop_arm(&job->loop, timer, clock_monotonic_ms() + RETRY_MS);
		return;
	}
	job->flush.given_up = true;
	job_post_event(job, EV_BUDGET_SPENT);
}

bool job_retry_flush(struct job *job, enum err_kind kind)
{
	int64_t at_ms = clock_monotonic_ms() + RETRY_MS;

	job->flush.tries++;
	if (!is_transient(kind) && job->flush.tries >= TRIES_MOST)
		return false;
	/* At a notice, the deadline is the limit. */
	if (!notices_stop(&job->notices) && at_ms >= flush_deadline_ms(job)) {
		job->flush.given_up = true;
		return false;
	}
	loop_arm(&job->loop, &job->retry_timer, at_ms);
	return true;
}

static void begin_flush(struct job *job)
{
	if (job->flush.began_ms > 0)
		return;
	job->flush.began_ms = clock_monotonic_ms();
	job->flush.timer.fired = on_flush_timeout;
	loop_arm(&job->loop, &job->flush.timer, job->flush.began_ms + job->options->flush_ms);
}

void job_flush(struct job *job)
{
	bool missing =
		job->any_complete && job->durable_generation != job->newest_complete.generation;
	/* What metrics and logs got last belongs to the work too. */
	bool tail = job_has_running_tail(job);

	begin_flush(job);
	/* No job is left that the upload could slow down. */
	if (job->snapshots)
		storage_set_urgent(job->resume.storage);
	if (job->snapshots && snapshot_queue_is_busy(job->snapshots))
		return;
	if (job->resuming || job->retry_timer.armed)
		return;
	if ((missing || tail) && !job->superseded && job->store && !job->flush.once_more) {
		/* The store may have failed before: one new try, which job_retry_flush() repeats.
		 */
		job->flush.once_more = true;
		job_queue_snapshot(job);
		if (job->resuming || (job->snapshots && snapshot_queue_is_busy(job->snapshots)))
			return;
	}
	if (retention_worker_is_busy(job->retention_worker)) {
		retention_worker_limit_time(job->retention_worker, RETENTION_MOST_MS);
		return;
	}
	job_post_event(job, EV_UPLOADED);
}
