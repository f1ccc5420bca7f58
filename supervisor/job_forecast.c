/* What a preemption would cost now, and the plan at a notice, said (forecast.h). */
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

struct forecast_facts job_forecast(const struct job *job)
{
	int64_t since = job->durable_ms > 0 ? job->durable_ms : job->launched_ms;

	return (struct forecast_facts){
		.window_ms = window(job),
		.save_ms = job->pace.save_ms,
		.upload_ms = job->upload_ms,
		.behind_ms = since > 0 ? clock_monotonic_ms() - since : 0,
		.can_ask = job_can_ask(job) || job->options->ask == ASK_AUTO,
		.pending =
			job->any_sealed && job->durable_generation != job->newest_sealed.generation,
		.any_durable = job->durable_ms > 0,
	};
}

const char *job_forecast_loss(const struct job *job, char *buffer, size_t capacity)
{
	struct forecast_facts facts = job_forecast(job);

	return forecast_format_loss(&facts, buffer, capacity);
}

void job_tell_plan(struct job *job)
{
	struct forecast_facts facts = job_forecast(job);
	char text[200];

	/* A command that has nothing to do with checkpoints has no plan. */
	if (!job->snapshots || !job->facts.launched)
		return;
	log_note("%s", forecast_format_plan(&facts, text, sizeof(text)));
	events_add(&job->events, "plan", "{s:s}", "text", text);
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
