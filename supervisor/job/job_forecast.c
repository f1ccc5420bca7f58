/* What a preemption would cost now, and the plan at a notice, said (preemption_forecast.h). */
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "job.h"

static int64_t window(const struct job *job)
{
	const struct notice *stop = notices_stop(&job->notices);
	int64_t usual = forecast_window_of(job->pace.cloud);

	if (stop && stop->deadline_ms != CLOCK_NEVER)
		return clock_left_ms(stop->deadline_ms);
	return usual ? usual : job->options->grace_ms;
}

static int64_t rest(const struct job *job)
{
	uint64_t done, total;
	int64_t began_ms;

	if (!job->snapshots || !snapshots_progress(job->snapshots, &done, &total))
		return job->upload_ms;
	began_ms = snapshots_began_ms(job->snapshots);
	return forecast_rest_ms(clock_monotonic_ms() - began_ms, done, total, job->upload_ms);
}

bool job_has_pending(const struct job *job)
{
	return job->any_sealed && job->durable_generation != job->newest_sealed.generation;
}

struct forecast_facts job_forecast(const struct job *job)
{
	int64_t since = job->durable_ms > 0 ? job->durable_ms : job->launched_ms;

	return (struct forecast_facts){
		.window_ms = window(job),
		.save_ms = job->pace.save_ms,
		.upload_ms = job->upload_ms,
		.rest_ms = rest(job),
		.behind_ms = since > 0 ? clock_monotonic_ms() - since : 0,
		.saving_for_ms = -1,
		.can_ask = job_can_ask(job),
		.pending = job_has_pending(job),
		.any_durable = job->durable_ms > 0,
	};
}

/* Without a way that the user or the profile has named, it is asked by SIGTERM, if anybody handles that. */
static bool can_ask(const struct job *job)
{
	return job_can_ask(job) || (job->options->ask == ASK_AUTO && job->ask.loop &&
					   ask_finds_anyone(&job->ask, job->child.pid));
}

bool job_is_saving(const struct job *job)
{
	uint64_t generation;

	return job->tracker && job->pace.saving_ms > 0 &&
	       !tracker_is_settled(job->tracker, &generation);
}

/* For a stop that is announced now. */
static struct forecast_facts forecast_stop(const struct job *job, bool asks)
{
	struct forecast_facts facts = job_forecast(job);

	facts.can_ask = asks;
	if (job_is_saving(job))
		facts.saving_for_ms = clock_monotonic_ms() - job->pace.saving_ms;
	return facts;
}

bool job_awaits_save(const struct job *job)
{
	struct forecast_facts facts = forecast_stop(job, false);

	return forecast_choose(&facts) == FORECAST_AWAIT;
}

const char *job_forecast_loss(const struct job *job, char *buffer, size_t capacity)
{
	struct forecast_facts facts = job_forecast(job);

	facts.can_ask = can_ask(job);
	return forecast_format_loss(&facts, buffer, capacity);
}

static void tell_plan(struct job *job, const struct forecast_facts *facts)
{
	char text[256];

	log_note("%s", forecast_format_plan(facts, text, sizeof(text)));
	events_add(&job->events, "plan", "{s:s}", "text", text);
}

void job_plan(struct job *job)
{
	struct forecast_facts facts = forecast_stop(job, can_ask(job));
	enum forecast_plan plan = forecast_choose(&facts);

	/* A command that has nothing to do with checkpoints has no plan. */
	if (!job->snapshots || !job->facts.launched ||
		(job->pace.planned && plan == job->pace.plan))
		return;
	job->pace.planned = true;
	job->pace.plan = plan;
	tell_plan(job, &facts);
}

bool job_ships_first(struct job *job)
{
	job->pace.deferred = job->pace.planned && job->pace.plan == FORECAST_FINISH &&
			     snapshots_busy(job->snapshots) && can_ask(job);
	return job->pace.deferred;
}

void job_go_on_with_plan(struct job *job)
{
	bool due = job->pace.deferred && job->state == JOB_CHECKPOINTING &&
		   !snapshots_busy(job->snapshots);

	if (!due)
		return;
	job->pace.deferred = false;
	job_plan(job);
	job_request_because_of_notice(job);
}

void job_forget_plan(struct job *job)
{
	job->pace.planned = job->pace.deferred = false;
}

/* --- while it trains --- */

static int64_t at_risk_since(const struct job *job)
{
	return job->durable_ms > 0 ? job->durable_ms : job->launched_ms;
}

static void risk_grew(struct timer *timer)
{
	struct job *job = container_of(timer, struct job, risk_timer);
	char text[120];

	if (job->state == JOB_RUNNING && !job->superseded && job->facts.managed) {
		log_warn("%s%s", job_forecast_loss(job, text, sizeof(text)),
			job->durable_ms > 0 ? "" : ": nothing is durable yet");
		events_add(&job->events, "at_risk", "{s:f}", "seconds",
			(double)job_forecast(job).behind_ms / 1000);
	}
	job->pace.risk_said++;
	job_watch_risk(job);
}

void job_watch_risk(struct job *job)
{
	int64_t worth_ms = forecast_worth_saying_ms(job->pace.gap_ms, job->pace.risk_said);

	if (!job->snapshots || job->launched_ms == 0 || worth_ms == INT64_MAX)
		return;
	job->risk_timer.fired = risk_grew;
	loop_arm(&job->loop, &job->risk_timer, at_risk_since(job) + worth_ms);
}

void job_note_point(struct job *job)
{
	int64_t now = clock_monotonic_ms();

	if (job->pace.point_ms > 0)
		job->pace.gap_ms = now - job->pace.point_ms;
	job->pace.point_ms = now;
	job->pace.risk_said = 0;
	job_watch_risk(job);
}

void job_warn_of_window(struct job *job)
{
	struct forecast_facts facts = job_forecast(job);
	char save[32], upload[32], time[32];

	if (job->pace.warned || notices_stop(&job->notices) || facts.save_ms < 0 ||
		!forecast_is_too_long(&facts))
		return;
	job->pace.warned = true;
	log_warn("a checkpoint takes %s to save and %s to become durable, which does not fit the "
		 "%s that %s: make it smaller or save often (--every auto)",
		text_duration(facts.save_ms, save, sizeof(save)),
		text_duration(facts.upload_ms, upload, sizeof(upload)),
		text_duration(facts.window_ms, time, sizeof(time)),
		job->pace.cloud[0] ? "this cloud's notice leaves" : "--grace leaves");
	events_add(&job->events, "too_long", "{s:f, s:f, s:f}", "save_seconds",
		(double)facts.save_ms / 1000, "upload_seconds", (double)facts.upload_ms / 1000,
		"window_seconds", (double)facts.window_ms / 1000);
}
