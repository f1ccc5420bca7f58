/* Checkpoints asked for regularly: every so often, or as often as it pays (checkpoint_interval.h). */
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "job.h"

#define SAVE_LEAST_MS 50

static void tell(struct job *job, const struct interval *interval)
{
	char every[32], save[32], mtbf[32];

	text_duration(interval->every_ms, every, sizeof(every));
	if (interval->save_ms < 0) {
		log_note("--every auto: the first checkpoint is asked for after %s; what that "
			 "takes decides the rest",
			every);
	} else {
		text_duration(interval->save_ms, save, sizeof(save));
		text_duration(interval->mtbf_ms, mtbf, sizeof(mtbf));
		log_note("--every auto: a checkpoint every %s (a save takes %s, the machine is "
			 "taken to be lost every %s, %.0f %% of that announced in time)",
			every, save, mtbf, 100 * interval->announced);
	}
	events_add(&job->events, "interval", "{s:f, s:o, s:f, s:f}", "seconds",
		(double)interval->every_ms / 1000, "save_seconds",
		interval->save_ms < 0 ? json_null() : json_real((double)interval->save_ms / 1000),
		"mtbf_seconds", (double)interval->mtbf_ms / 1000, "announced", interval->announced);
}

static void arm(struct job *job, int64_t since_ms)
{
	if (job->pace.interval.every_ms > 0)
		loop_arm(&job->loop, &job->every_timer, since_ms + job->pace.interval.every_ms);
}

static void choose(struct job *job)
{
	struct forecast_facts forecast = job_forecast(job);
	struct interval_facts facts = {.past = job->resume.earlier.past,
		.save_ms = job->pace.save_ms,
		.mtbf_ms = job->options->mtbf_ms,
		.fits = !forecast_is_too_long(&forecast)};
	struct interval now;

	/* Nobody has looked at earlier attempts. */
	if (facts.past.save_ms == 0)
		facts.past.save_ms = -1;
	now = interval_choose(&facts);
	if (job->pace.interval.every_ms == 0 || interval_differs(&job->pace.interval, &now) ||
		(job->pace.interval.save_ms < 0 && now.save_ms >= 0))
		tell(job, &now);
	else
		now.every_ms = job->pace.interval.every_ms;
	job->pace.interval = now;
}

static void due(struct timer *timer)
{
	struct job *job = container_of(timer, struct job, every_timer);
	int64_t now = clock_monotonic_ms();
	bool fresh = job->any_sealed && job->options->every_auto &&
		     now < job->newest_sealed.sealed_ms + job->pace.interval.every_ms;

	/* The job has saved by itself meanwhile. */
	if (fresh) {
		arm(job, job->newest_sealed.sealed_ms);
		return;
	}
	if (job->state == JOB_RUNNING)
		job_request(job, "interval");
	arm(job, now);
}

void job_begin_interval(struct job *job)
{
	job->every_timer.fired = due;
	job->pace.interval.every_ms = job->options->every_ms;
	if (job->options->every_auto)
		choose(job);
	arm(job, clock_monotonic_ms());
	job_watch_risk(job);
}

void job_note_saving(struct job *job)
{
	job->pace.saving_ms = clock_monotonic_ms();
}

void job_note_saved(struct job *job)
{
	int64_t now = clock_monotonic_ms(), took_ms = now - job->pace.saving_ms;

	if (job->pace.saving_ms == 0)
		return;
	/* That long it was only looked at whether more would come. */
	took_ms -= job->options->quiet_ms;
	job->pace.save_ms = interval_smooth(
		job->pace.save_ms, took_ms > SAVE_LEAST_MS ? took_ms : SAVE_LEAST_MS);
	job->pace.saving_ms = 0;
	if (!job->options->every_auto || job->state != JOB_RUNNING)
		return;
	choose(job);
	arm(job, now);
}
