/*
 * Telemetry of this job: the event log in the store, counters and metrics, a textfile, a webhook,
 * the tail of the job's log. All of them follow the events (telemetry/event_log.h). Uploads and
 * webhooks have a thread of their own, and no checkpoint ever waits for them.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "job.h"
#include "telemetry/telemetry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EVENT_UPLOAD_MS 60000
#define LOG_TAIL (256 * 1024)

json_t *observers_labels(const struct job *job)
{
	return labels_json(job->options->labels, job->options->label_count);
}

/* --- the event log in the store --- */

static bool can_upload_events(const struct job *job)
{
	return job->snapshots && job->resume.attempt.number > 0;
}

static void upload_events(void *arg)
{
	struct job *job = arg;
	struct observers *observers = &job->observers;

	observers->put_failed =
		storage_put_note(job->resume.storage, job->resume.attempt.number, "ledger",
				 observers->parts + 1, observers->part.data, observers->part.size,
				 &observers->cancel, &observers->err) < 0;
}

static void settle_event_upload(struct job *job)
{
	struct observers *observers = &job->observers;

	observers->putting = false;
	if (observers->put_failed) {
		event_buffer_put_back(&observers->event_buffer, &observers->part);
		log_debug("cannot upload the event log, retrying: %s", observers->err.text);
		return;
	}
	observers->parts++;
	bytes_release(&observers->part);
}

static void on_events_uploaded(void *arg)
{
	settle_event_upload(arg);
}

static void on_event_upload_due(struct timer *timer)
{
	struct job *job = container_of(timer, struct job, observers.timer);
	struct observers *observers = &job->observers;

	/* While a checkpoint has to become durable soon, it gets all of the bandwidth.
	 * observers_record_end() uploads the rest. */
	if (observers->hurried || observers->putting || !can_upload_events(job)) {
		loop_arm(&job->loop, timer, clock_monotonic_ms() + EVENT_UPLOAD_MS);
		return;
	}
	event_buffer_extract(&observers->event_buffer, &observers->part);
	observers->putting = observers->put_failed = true;
	workers_run(observers->workers, upload_events, on_events_uploaded, job);
}

/* --- webhook --- */

static void get_host_name(char host[65])
{
	host[0] = '\0';
	gethostname(host, 64);
	host[64] = '\0';
}

static char *format_notification(const struct job *job, const char *event,
				 const struct outcome *outcome)
{
	const struct notice *stop = notices_stop(&job->notices);
	auto_json json_t *labels = observers_labels(job);
	char durable[RESUME_POINT_TEXT], host[65];
	struct notification notification = {
		.event = event,
		.job = job->name.text,
		.host = host,
		.attempt = job->resume.attempt.number,
		.outcome = outcome ? outcome_name(outcome) : NULL,
		.exit_code = outcome ? outcome->exit_code : 0,
		.source = stop ? stop->source : NULL,
		.reason = stop ? stop->reason : NULL,
		.seconds_left = -1,
		.durable = job_format_resume_point(job, durable),
		.labels = labels,
	};

	get_host_name(host);
	if (stop && stop->deadline_ms != CLOCK_NEVER)
		notification.seconds_left = (double)clock_left_ms(stop->deadline_ms) / 1000;
	return notification_body(job->options->notify, &notification);
}

struct pending_webhook {
	struct pending_webhook *next;
	struct job *job;
	char *body;
	struct err err;
	bool failed;
};

static void post_webhook(void *arg)
{
	struct pending_webhook *pending_webhook = arg;
	const char *url = notification_url(pending_webhook->job->options->notify);

	pending_webhook->failed =
		notification_post(url, pending_webhook->body,
				  &pending_webhook->job->observers.cancel, &pending_webhook->err) <
		0;
}

static void on_webhook_posted(void *arg)
{
	struct pending_webhook *pending_webhook = arg;

	if (pending_webhook->failed)
		log_warn("--notify: %s", pending_webhook->err.text);
}

static void queue_webhook(struct job *job, const char *event)
{
	struct pending_webhook *pending_webhook;

	if (!job->options->notify)
		return;
	pending_webhook = memory_new(sizeof(*pending_webhook));
	pending_webhook->job = job;
	pending_webhook->body = format_notification(job, event, NULL);
	pending_webhook->next = job->observers.pending_webhooks;
	job->observers.pending_webhooks = pending_webhook;
	workers_run(job->observers.workers, post_webhook, on_webhook_posted, pending_webhook);
}

/* --- textfile --- */

static char *metrics_text(const struct job *job, const struct outcome *outcome)
{
	auto_json json_t *status = job_status_json(job);

	if (outcome)
		json_object_set_new(status, "exit_code", json_integer(outcome->exit_code));
	return metrics_format(status, job_state_names, clock_wall_ms());
}

static void write_textfile(struct job *job, const struct outcome *outcome)
{
	auto_free char *text = NULL;
	struct err err;

	if (!job->options->metrics_file || job->observers.textfile_failed)
		return;
	text = metrics_text(job, outcome);
	if (file_replace(job->options->metrics_file, text, strlen(text), &err) == 0)
		return;
	job->observers.textfile_failed = true;
	log_warn("--metrics-file: %s", err.text);
}

/* --- the events --- */

static bool changes_metrics(const char *event)
{
	static const char *const events[] = {"launched",        "restored", "durable",
					     "snapshot_failed", "notice",   "child_exited"};

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		if (text_equal(event, events[i]))
			return true;
	return false;
}

static void on_event(void *arg, const char *event, json_t *line, const char *text)
{
	struct job *job = arg;
	const char *kind = json_text_or(line, "kind", "");

	counters_add(&job->observers.counters, event, line);
	if (job->store)
		event_buffer_add(&job->observers.event_buffer, text);
	if (!job->loop.stopped && changes_metrics(event))
		write_textfile(job, NULL);
	if (text_equal(event, "notice") && text_equal(kind, "stop"))
		queue_webhook(job, "notice");
	else if (text_equal(event, "notice") && text_equal(kind, "cancelled"))
		queue_webhook(job, "cancelled");
}

int observers_open(struct job *job, struct err *err)
{
	struct observers *observers = &job->observers;

	if (cancel_init(&observers->cancel, err) < 0 ||
	    workers_new(&job->loop, 1, &observers->workers, err) < 0)
		return -1;
	observers->timer.fired = on_event_upload_due;
	loop_arm(&job->loop, &observers->timer, clock_monotonic_ms() + EVENT_UPLOAD_MS);
	job->events.on_event = on_event;
	job->events.arg = job;
	return 0;
}

int observers_open_metrics(struct job *job, struct err *err)
{
	if (!job->options->metrics)
		return 0;
	if (!job->session.directory)
		return err_set(err, ERR_FAILED, "no runtime directory to ask the job through");
	return metrics_server_start(job->options->metrics, job->session.directory, job_state_names,
				    &job->observers.server, err);
}

/* --- the end --- */

/* Reads the last LOG_TAIL bytes of the file. */
static int read_tail(const char *path, struct bytes *tail, struct err *err)
{
	auto_close int fd = file_open(path, O_RDONLY, 0, err);
	off_t size;
	ssize_t got;

	if (fd < 0)
		return -1;
	if ((size = lseek(fd, 0, SEEK_END)) < 0 ||
	    lseek(fd, size > LOG_TAIL ? size - LOG_TAIL : 0, SEEK_SET) < 0)
		return err_os(err, errno, "%s", path);
	while (tail->size < LOG_TAIL) {
		if (bytes_reserve(tail, LOG_TAIL, err) < 0)
			return -1;
		got = read(fd, tail->data + tail->size, LOG_TAIL - tail->size);
		if (got < 0)
			return err_os(err, errno, "%s", path);
		if (got == 0)
			break;
		tail->size += (size_t)got;
	}
	return 0;
}

static void upload_log_tail(struct job *job)
{
	auto_(bytes_release) struct bytes tail = {0};
	struct err err;

	if (!job->options->log)
		return;
	if (read_tail(job->options->log, &tail, &err) < 0 ||
	    storage_put_note(job->resume.storage, job->resume.attempt.number, "log", 1, tail.data,
			     tail.size, &job->observers.cancel, &err) < 0)
		log_warn("--log: cannot upload the end of the log: %s", err.text);
}

static void upload_end_notes(struct job *job, const struct outcome *outcome)
{
	struct observers *observers = &job->observers;
	auto_free char *text = metrics_text(job, outcome);

	if (!can_upload_events(job))
		return;
	event_buffer_extract(&observers->event_buffer, &observers->part);
	if (observers->part.size > 0) {
		upload_events(job);
		settle_event_upload(job);
	}
	if (outcome->exit_code != 0)
		upload_log_tail(job);
	storage_put_note(job->resume.storage, job->resume.attempt.number, "metrics", 1, text,
			 strlen(text), &observers->cancel, &observers->err);
}

void observers_notify_end(struct job *job, const struct outcome *outcome, int64_t until_ms)
{
	struct pending_webhook pending_webhook = {.job = job};

	if (!job->observers.workers || !job->options->notify ||
	    !(job->model.facts.noticed || outcome->exit_code != 0))
		return;
	cancel_set_deadline(&job->observers.cancel, until_ms);
	pending_webhook.body = format_notification(job, "ended", outcome);
	post_webhook(&pending_webhook);
	if (pending_webhook.failed)
		log_warn("--notify: %s", pending_webhook.err.text);
	free(pending_webhook.body);
}

void observers_record_end(struct job *job, const struct outcome *outcome, int64_t until_ms)
{
	struct observers *observers = &job->observers;

	if (!observers->workers)
		return;
	cancel_set_deadline(&observers->cancel, until_ms);
	workers_free(observers->workers); /* waits for a running upload, up to the deadline */
	observers->workers = NULL;
	if (observers->putting)
		settle_event_upload(job);
	write_textfile(job, outcome);
	upload_end_notes(job, outcome);
}

void observers_close(struct job *job)
{
	struct observers *observers = &job->observers;

	metrics_server_stop(observers->server);
	job->events.on_event = NULL;
	if (!observers->workers && observers->cancel.fd < 0)
		return;
	cancel_raise(&observers->cancel);
	workers_free(observers->workers);
	cancel_release(&observers->cancel);
	while (observers->pending_webhooks) {
		struct pending_webhook *pending_webhook = observers->pending_webhooks;

		observers->pending_webhooks = pending_webhook->next;
		free(pending_webhook->body);
		free(pending_webhook);
	}
	event_buffer_release(&observers->event_buffer);
	bytes_release(&observers->part);
}
