/* What this job tells of itself: to `reprieve status`, and to those who observe it. */
#include "base/clock.h"
#include "base/text.h"
#include "job.h"

#include <stdio.h>
#include <unistd.h>

static void add_age(json_t *status, const char *name, int64_t since_ms)
{
	if (since_ms > 0)
		json_object_set_new(status, name,
				    json_real((double)(clock_monotonic_ms() - since_ms) / 1000));
}

/* The job's own report: reprieve_progress(). */
static void add_training(const struct job *job, json_t *status)
{
	struct progress_page *page = job->tracker ? tracker_page(job->tracker) : NULL;
	struct training_progress progress;
	json_t *training;

	if (!page || !progress_page_read_progress(page, &progress))
		return;
	training = json_pack("{s:I}", "step", (json_int_t)progress.step);
	if (progress.mean_ms > 0)
		json_object_set_new(training, "step_seconds", json_real(progress.mean_ms / 1000));
	add_age(training, "seconds", progress.step_ms);
	json_object_set_new(status, "training", training);
}

/* What a start now would resume from. */
static struct snapshot_id newest_durable(const struct job *job)
{
	struct snapshot_id newest =
		job->snapshots ? snapshot_queue_newest(job->snapshots) : (struct snapshot_id){0};

	if (snapshot_id_is_none(newest) && job->resume.kind == RESUME_RESTORED)
		newest = job->resume.from;
	return newest;
}

const char *job_format_resume_point(const struct job *job, char text[RESUME_POINT_TEXT])
{
	struct snapshot_id newest = newest_durable(job);
	char id[SNAPSHOT_ID_TEXT];

	if (snapshot_id_is_none(newest))
		text_set(text, RESUME_POINT_TEXT, "");
	else if (job->model.durable.step < 0)
		text_set(text, RESUME_POINT_TEXT, snapshot_id_format(newest, id));
	else
		snprintf(text, RESUME_POINT_TEXT, "%s, step %lld", snapshot_id_format(newest, id),
			 (long long)job->model.durable.step);
	return text;
}

static void add_forecast(const struct job *job, json_t *status)
{
	struct job_view view = job_look(job, false);
	char loss[120], plan[256];

	if (!job->snapshots || job->model.launched_ms <= 0)
		return;
	json_object_set_new(status, "at_risk_seconds",
			    json_real((double)job_forecast(&job->model, &job->rules, &view)
					      .behind_ms /
				      1000));
	json_object_set_new(status, "loss",
			    json_string(job_forecast_loss(job, loss, sizeof(loss))));
	if (job->child.running)
		json_object_set_new(status, "plan",
				    json_string(job_forecast_plan(job, plan, sizeof(plan))));
}

/* The upload under way; "bytes_per_second" and "seconds_left" once they are known. */
static void add_upload(const struct job *job, json_t *status)
{
	struct progress_facts upload;
	json_t *saving;

	if (!job_display_upload(job, &upload))
		return;
	saving = json_pack("{s:I, s:I}", "bytes_done", (json_int_t)upload.done, "bytes_total",
			   (json_int_t)upload.total);
	if (upload.rate > 0)
		json_object_set_new(saving, "bytes_per_second",
				    json_integer((json_int_t)upload.rate));
	if (progress_left_ms(&upload) >= 0)
		json_object_set_new(saving, "seconds_left",
				    json_real((double)progress_left_ms(&upload) / 1000));
	json_object_set_new(saving, "still_seconds", json_real((double)upload.still_ms / 1000));
	json_object_set_new(status, "saving", saving);
}

json_t *job_status_json(const struct job *job)
{
	struct snapshot_id newest = newest_durable(job);
	const struct notice *stop = notices_stop(&job->notices);
	char id[SNAPSHOT_ID_TEXT];
	json_t *status;

	status = json_pack("{s:s, s:s, s:i, s:i, s:i, s:s?, s:I, s:s, s:b, s:b}", "job",
			   job->name.text, "state", job_state_name(job->model.state), "attempt",
			   (int)job->resume.attempt.number, "pid", (int)job->child.pid,
			   "supervisor_pid", (int)getpid(), "durable",
			   snapshot_id_is_none(newest) ? NULL : snapshot_id_format(newest, id),
			   "step", (json_int_t)job->model.durable.step, "store",
			   job->store ? job->store : "", "waiting", job->model.point.waiting_ms > 0,
			   "behind",
			   recovery_point_is_behind(&job->model.point, clock_monotonic_ms()));
	add_age(status, "durable_seconds", job->model.durable.written_ms);
	json_object_set_new(status, "counters", counters_json(&job->observers.counters));
	json_object_set_new(status, "labels", observers_labels(&job->observers));
	add_forecast(job, status);
	add_training(job, status);
	json_object_set_new(status, "sources", notice_format_sources_json(job->watch));
	if (stop)
		json_object_set_new(status, "notice", notice_format_json(stop));
	if (job->rank_progress.count > 0)
		json_object_set_new(status, "rank_progress", job_rank_progress_json(job));
	if (job->model.any_complete) {
		json_object_set_new(status, "newest_step", json_integer(job->model.newest.step));
		add_age(status, "newest_seconds", job->model.newest.completed_ms);
	}
	add_upload(job, status);
	if (gang_feed_is_running(&job->in_gang.feed))
		json_object_set_new(status, "gang",
				    gang_status_json(&job->in_gang.feed.view,
						     &job->in_gang.feed.here,
						     job->resume.attempt.number,
						     job->resume.hosts));
	return status;
}

static json_t *tell_status(void *arg)
{
	return job_status_json(arg);
}

static void tell_run(void *arg, struct observed_run *run)
{
	const struct job *job = arg;
	const struct notice *stop = notices_stop(&job->notices);

	run->attempt = job->resume.attempt.number;
	job_format_resume_point(job, run->durable);
	if (!stop)
		return;
	run->source = stop->source;
	run->reason = stop->reason;
	run->deadline_ms = stop->deadline_ms;
}

int job_open_observers(struct job *job, struct err *err)
{
	const struct job_config *options = job->options;
	struct observed_job observed = {
		.loop = &job->loop,
		.events = &job->events,
		.name = job->name.text,
		.labels = options->labels,
		.label_count = options->label_count,
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

	return observers_open(&observed, &job->observers, err);
}
