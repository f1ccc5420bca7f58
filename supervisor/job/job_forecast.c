/* What a preemption would cost now, and the plan at a notice. The decisions are pure
 * (planning/preemption_forecast.h); here they get their facts, and their results are logged. */
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "job.h"

/* The sources and the SIGTERM give each notice its deadline; cloud/notice.c merges them. */
int64_t job_deadline_ms(const struct job *job)
{
	const struct notice *stop = notices_stop(&job->notices);

	return stop ? stop->deadline_ms : CLOCK_NEVER;
}

static int64_t notice_window_ms(const struct job *job)
{
	const struct notice *stop = notices_stop(&job->notices);
	int64_t usual = preemption_forecast_window_of(job->pace.cloud);

	if (stop && stop->deadline_ms != CLOCK_NEVER)
		return clock_left_ms(stop->deadline_ms);
	return usual ? usual : job->options->grace_ms;
}

static int64_t upload_rest_ms(const struct job *job)
{
	uint64_t done, total;
	int64_t began_ms;

	if (!job->snapshots || !snapshot_queue_progress(job->snapshots, &done, &total))
		return job->upload_ms;
	began_ms = snapshot_queue_began_ms(job->snapshots);
	return preemption_forecast_rest_ms(clock_monotonic_ms() - began_ms, done, total,
					   job->upload_ms);
}

bool job_has_pending(const struct job *job)
{
	return job->any_complete && job->durable_generation != job->newest_complete.generation;
}

struct preemption_facts job_forecast(const struct job *job)
{
	int64_t since = job->durable_ms > 0 ? job->durable_ms : job->launched_ms;

	return (struct preemption_facts){
		.window_ms = notice_window_ms(job),
		.save_ms = job->pace.save_ms,
		.upload_ms = job->upload_ms,
		.rest_ms = upload_rest_ms(job),
		.behind_ms = since > 0 ? clock_monotonic_ms() - since : 0,
		.saving_for_ms = -1,
		.save_gap_ms = job->pace.rhythm.gap_ms,
		.since_save_ms = clock_monotonic_ms() - job->pace.rhythm.last_ms,
		.can_ask = job_can_request(job),
		.pending = job_has_pending(job),
		.any_durable = job->durable_ms > 0,
	};
}

/* If neither the user nor the profile names a way to ask, SIGTERM is the request, provided that a
 * process handles it. */
static bool can_request_or_signal(const struct job *job)
{
	return job_can_request(job) || (job->options->ask == REQUEST_AUTO && job->ask.loop &&
					checkpoint_request_has_target(&job->ask, job->child.pid));
}

bool job_is_saving(const struct job *job)
{
	return job->tracker && tracker_is_saving(job->tracker);
}

/* The forecast if a stop were announced now. */
static struct preemption_facts forecast_at_stop(const struct job *job, bool asks)
{
	struct preemption_facts facts = job_forecast(job);
	/* It may have begun before the newest checkpoint was complete. */
	int64_t began_ms =
		job->pace.saving_ms > 0 ? job->pace.saving_ms : job->newest_complete.completed_ms;

	facts.can_ask = asks;
	if (job_is_saving(job))
		facts.saving_for_ms = clock_monotonic_ms() - began_ms;
	return facts;
}

bool job_plans_to_await_save(const struct job *job, int64_t *due_ms)
{
	struct preemption_facts facts = forecast_at_stop(job, false);
	enum preemption_plan plan = preemption_forecast_choose(&facts);

	if (due_ms)
		*due_ms = plan == PREEMPTION_AWAIT_NEXT ? preemption_forecast_next_save_ms(&facts)
							: 0;
	return plan == PREEMPTION_AWAIT_SAVE || plan == PREEMPTION_AWAIT_NEXT;
}

const char *job_forecast_loss(const struct job *job, char *buffer, size_t capacity)
{
	struct preemption_facts facts = job_forecast(job);

	facts.can_ask = can_request_or_signal(job);
	return preemption_forecast_format_loss(&facts, buffer, capacity);
}

static void log_plan(struct job *job, const struct preemption_facts *facts)
{
	char text[256];

	log_note("%s", preemption_forecast_format_plan(facts, text, sizeof(text)));
	event_log_add(&job->events, "plan", "{s:s}", "text", text);
}

void job_update_plan(struct job *job)
{
	struct preemption_facts facts = forecast_at_stop(job, can_request_or_signal(job));
	enum preemption_plan plan = preemption_forecast_choose(&facts);

	/* A command that saves no checkpoints needs no plan. */
	if (!job->snapshots || !job->facts.launched ||
	    (job->pace.planned && plan == job->pace.plan))
		return;
	job->pace.planned = true;
	job->pace.plan = plan;
	log_plan(job, &facts);
}

bool job_upload_before_asking(struct job *job)
{
	job->pace.deferred = job->pace.planned && job->pace.plan == PREEMPTION_FINISH_UPLOAD &&
			     snapshot_queue_is_busy(job->snapshots) && can_request_or_signal(job);
	return job->pace.deferred;
}

void job_continue_plan(struct job *job)
{
	bool due = job->pace.deferred && job->state == JOB_CHECKPOINTING &&
		   !snapshot_queue_is_busy(job->snapshots);

	if (!due)
		return;
	job->pace.deferred = false;
	job_update_plan(job);
	job_request_at_notice(job);
}

void job_reset_plan(struct job *job)
{
	job->pace.planned = job->pace.deferred = false;
}

/* --- while it trains --- */

static int64_t at_risk_since(const struct job *job)
{
	return job->durable_ms > 0 ? job->durable_ms : job->launched_ms;
}

static void on_risk_due(struct timer *timer)
{
	struct job *job = container_of(timer, struct job, risk_timer);
	char text[120];

	if (job->state == JOB_RUNNING && !job->superseded && job->facts.managed) {
		log_warn("%s%s", job_forecast_loss(job, text, sizeof(text)),
			 job->durable_ms > 0 ? "" : ": nothing is durable yet");
		event_log_add(&job->events, "at_risk", "{s:f}", "seconds",
			      (double)job_forecast(job).behind_ms / 1000);
	}
	job->pace.risk_said++;
	job_arm_risk_warning(job);
}

void job_arm_risk_warning(struct job *job)
{
	int64_t worth_ms = preemption_forecast_warn_ms(job->pace.gap_ms, job->pace.risk_said);

	if (!job->snapshots || job->launched_ms == 0 || worth_ms == INT64_MAX)
		return;
	job->risk_timer.fired = on_risk_due;
	loop_arm(&job->loop, &job->risk_timer, at_risk_since(job) + worth_ms);
}

void job_note_durable(struct job *job)
{
	int64_t now = clock_monotonic_ms();

	if (job->pace.point_ms > 0)
		job->pace.gap_ms = now - job->pace.point_ms;
	job->pace.point_ms = now;
	job->pace.risk_said = 0;
	job_arm_risk_warning(job);
}

void job_warn_if_window_too_short(struct job *job)
{
	struct preemption_facts facts = job_forecast(job);
	char save[32], upload[32], time[32];

	if (job->pace.warned || notices_stop(&job->notices) || facts.save_ms < 0 ||
	    !preemption_forecast_is_too_long(&facts))
		return;
	job->pace.warned = true;
	log_warn("saving (%s) plus upload (%s) exceeds the %s %s: make the checkpoint smaller or "
		 "save more often (--every auto)",
		 text_duration(facts.save_ms, save, sizeof(save)),
		 text_duration(facts.upload_ms, upload, sizeof(upload)),
		 text_duration(facts.window_ms, time, sizeof(time)),
		 job->pace.cloud[0] ? "of this cloud's notice" : "of --grace");
	event_log_add(&job->events, "upload_exceeds_notice", "{s:f, s:f, s:f}", "save_seconds",
		      (double)facts.save_ms / 1000, "upload_seconds",
		      (double)facts.upload_ms / 1000, "window_seconds",
		      (double)facts.window_ms / 1000);
}
