/* What the job tells of itself: as facts for supervisor/reporting/, and to telemetry/observers.c.
 */
#include "base/clock.h"
#include "job.h"

struct run_facts job_facts(const struct job *job, enum run_look look)
{
	struct run_facts run = {
		.model = &job->model,
		.rules = &job->rules,
		.view = {.now_ms = clock_monotonic_ms(), .child_running = job->child.running},
		.job = job->name.text,
		.of_scheduler = job->name.of_scheduler,
		.stem = job->name.stem,
		.directory = job->workspace.directory,
		.store = job->store,
		.runtime = job->session.directory,
		.command = job->options->command,
		.attempt = job->resume.attempt.number,
		.pid = job->child.pid,
		.saves = job->snapshots != NULL,
		.fresh = job->resume.kind == RESUME_FRESH,
		.restored = job->resume.kind == RESUME_RESTORED,
		.goes_back = job->options->restore != RESTORE_LATEST,
		.expected = job->expected != EXPECT_NOTHING,
		.ask_chosen = job->options->ask_chosen,
		.asks_by_command = job->ask.method == REQUEST_COMMAND,
		.handler_unseen = job->profile.handler_unseen,
		.of_known_cloud = job->cloud[0] != '\0',
		.from = job->resume.from,
		.stop = notices_stop(&job->notices),
	};

	if (job->snapshots)
		run.durable = snapshot_queue_newest(job->snapshots);
	else
		run.durable = job->resume.from;
	if (look != LOOK_AT_MODEL)
		run.view = job_look(job, look == LOOK_AT_PROCESSES);
	return run;
}

static struct run_facts look_at_run(void *arg, enum run_look look)
{
	return job_facts(arg, look);
}

json_t *job_status_json(const struct job *job)
{
	struct progress_page *page = job->tracker ? tracker_page(job->tracker) : NULL;
	struct training_progress progress;
	struct status_parts parts = {
		.counters = json_incref(job->observers.counters),
		.labels = json_incref(job->options->labels),
		.sources = notice_format_sources_json(job->watch),
	};

	if (page && progress_page_read_progress(page, &progress))
		parts.training = &progress;
	if (job->ranks.progress.count > 0)
		parts.rank_progress = job_rank_progress_json(job);
	if (gang_feed_is_running(&job->in_gang.feed))
		parts.gang = gang_feed_status(&job->in_gang.feed);
	return status_report(&job->reports, &parts);
}

static json_t *tell_status(void *arg)
{
	return job_status_json(arg);
}

static void tell_run(void *arg, struct observed_run *observed)
{
	struct run_facts run = job_facts(arg, LOOK_AT_MODEL);

	observed->attempt = run.attempt;
	run_facts_resume_point(&run, observed->durable);
	if (!run.stop)
		return;
	observed->source = run.stop->source;
	observed->reason = run.stop->reason;
	observed->deadline_ms = run.stop->deadline_ms;
}

int job_open_observers(struct job *job, struct err *err)
{
	const struct job_config *options = job->options;
	struct observed_job observed = {
		.loop = &job->loop,
		.events = &job->events,
		.name = job->name.text,
		.labels = options->labels,
		.states = job_state_names,
		.has_store = job->store != NULL,
		.metrics = options->metrics,
		.metrics_file = options->metrics_file,
		.notify = options->notify,
		.log = options->log,
		.status = tell_status,
		.look = tell_run,
		.arg = job,
	};

	job->reports.loop = &job->loop;
	job->reports.events = &job->events;
	job->reports.look = look_at_run;
	job->reports.arg = job;
	return observers_open(&observed, &job->observers, err);
}
