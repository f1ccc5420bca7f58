/* Requests at intervals: a fixed one, or the one that loses least time
 * (planning/checkpoint_interval.h). */
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "job.h"

#define SAVE_LEAST_MS 50

static void log_interval(struct job *job, const struct checkpoint_interval *interval)
{
	char every[32], save[32], mtbf[32];

	text_duration(interval->every_ms, every, sizeof(every));
	if (interval->save_ms < 0) {
		log_note("--every auto: first checkpoint after %s; the time that it takes decides "
			 "the interval",
			 every);
	} else {
		text_duration(interval->save_ms, save, sizeof(save));
		text_duration(interval->mtbf_ms, mtbf, sizeof(mtbf));
		log_note("--every auto: checkpoint every %s (save takes %s; assumed MTBF %s, "
			 "%.0f %% announced)",
			 every, save, mtbf, 100 * interval->announced);
	}
	event_log_add(&job->events, "interval", "{s:f, s:o, s:f, s:f}", "seconds",
		      (double)interval->every_ms / 1000, "save_seconds",
		      interval->save_ms < 0 ? json_null()
					    : json_real((double)interval->save_ms / 1000),
		      "mtbf_seconds", (double)interval->mtbf_ms / 1000, "announced",
		      interval->announced);
}

static void arm_interval_timer(struct job *job, int64_t since_ms)
{
	if (job->pace.interval.every_ms > 0)
		loop_arm(&job->loop, &job->every_timer, since_ms + job->pace.interval.every_ms);
}

static void update_interval(struct job *job)
{
	struct preemption_facts forecast = job_forecast(job);
	struct checkpoint_interval_facts facts = {
		.past = job->resume.attempt_outcomes.past,
		.save_ms = job->pace.save_ms,
		.mtbf_ms = job->options->mtbf_ms,
		.fits = !preemption_forecast_is_too_long(&forecast),
	};
	struct checkpoint_interval now;

	/* Earlier attempts were not read, so 0 means unknown. */
	if (facts.past.save_ms == 0)
		facts.past.save_ms = -1;
	now = checkpoint_interval_choose(&facts);
	if (job->pace.interval.every_ms == 0 ||
	    checkpoint_interval_differs(&job->pace.interval, &now) ||
	    (job->pace.interval.save_ms < 0 && now.save_ms >= 0))
		log_interval(job, &now);
	else
		now.every_ms = job->pace.interval.every_ms;
	job->pace.interval = now;
}

static void on_interval_due(struct timer *timer)
{
	struct job *job = container_of(timer, struct job, every_timer);
	int64_t now = clock_monotonic_ms();
	bool fresh = job->any_complete && job->options->every_auto &&
		     now < job->newest_complete.completed_ms + job->pace.interval.every_ms;

	/* The job has saved by itself since: the interval starts at that checkpoint. */
	if (fresh) {
		arm_interval_timer(job, job->newest_complete.completed_ms);
		return;
	}
	if (job->state == JOB_RUNNING)
		job_request_checkpoint(job, SAVED_AT_INTERVAL);
	arm_interval_timer(job, now);
}

void job_begin_interval(struct job *job)
{
	job->every_timer.fired = on_interval_due;
	job->pace.interval.every_ms = job->options->every_ms;
	if (job->options->every_auto)
		update_interval(job);
	arm_interval_timer(job, clock_monotonic_ms());
	job_arm_risk_warning(job);
}

void job_note_save_started(struct job *job)
{
	job->pace.saving_ms = clock_monotonic_ms();
}

void job_note_save_ended(struct job *job)
{
	int64_t now = clock_monotonic_ms();
	/* Afterwards it was only looked whether more would come. */
	int64_t took_ms = job->newest_complete.written_ms - job->pace.saving_ms;

	if (job->child.running)
		save_rhythm_note(&job->pace.rhythm, now);
	if (job->pace.saving_ms == 0)
		return;
	/* Not the save has ended but the job, which may have written all the time. */
	if (!job->child.running &&
	    (job->request.sent_ms == 0 || job->request.sent_ms > job->pace.saving_ms)) {
		job->pace.saving_ms = 0;
		return;
	}
	job->pace.save_ms =
		checkpoint_interval_smooth(job->pace.save_ms,
					   took_ms > SAVE_LEAST_MS ? took_ms : SAVE_LEAST_MS);
	job->pace.saving_ms = 0;
	if (!job->options->every_auto || job->state != JOB_RUNNING)
		return;
	update_interval(job);
	arm_interval_timer(job, now);
}
