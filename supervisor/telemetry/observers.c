#include "telemetry.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/held_directory.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "base/workers.h"
#include "storage/storage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EVENT_UPLOAD_MS 60000
#define LOG_TAIL (256 * 1024)

/* The job ended with this exit code; NULL: it has not ended. */
static char *metrics_text(const struct observers *observers, const int *exit_code)
{
	auto_json json_t *status = observers->job.status(observers->job.arg);

	if (exit_code)
		json_object_set_new(status, "exit_code", json_integer(*exit_code));
	return metrics_format(status, observers->job.states, clock_wall_ms());
}

/* --- the event log in the store --- */

/* Drops the oldest lines until the rest fits. */
static void drop_oldest(struct event_buffer *event_buffer)
{
	struct bytes *lines = &event_buffer->lines;
	size_t gone = 0;

	while (lines->size - gone > EVENT_BUFFER_MOST) {
		uint8_t *end = memchr(lines->data + gone, '\n', lines->size - gone);

		gone = end ? (size_t)(end - lines->data) + 1 : lines->size;
		event_buffer->dropped++;
	}
	memmove(lines->data, lines->data + gone, lines->size - gone);
	lines->size -= gone;
}

void event_buffer_add(struct event_buffer *event_buffer, const char *line)
{
	if (bytes_append(&event_buffer->lines, line, strlen(line), NULL) < 0 ||
	    bytes_append(&event_buffer->lines, "\n", 1, NULL) < 0)
		return;
	if (event_buffer->lines.size > EVENT_BUFFER_MOST)
		drop_oldest(event_buffer);
}

void event_buffer_extract(struct event_buffer *event_buffer, struct bytes *part)
{
	*part = event_buffer->lines;
	event_buffer->lines = (struct bytes){0};
	if (event_buffer->dropped == 0)
		return;
	bytes_format(part, NULL, "{\"event\":\"ledger_shortened\",\"lines\":%u}\n",
		     event_buffer->dropped);
	event_buffer->dropped = 0;
}

void event_buffer_release(struct event_buffer *event_buffer)
{
	bytes_release(&event_buffer->lines);
}

void observers_set_store(struct observers *observers, struct storage *storage, unsigned attempt)
{
	observers->storage = storage;
	observers->attempt = attempt;
}

static int put_note(struct observers *observers, const char *kind, unsigned part, const void *data,
		    size_t size, struct err *err)
{
	return storage_put_note(observers->storage, observers->attempt, kind, part, data, size,
				&observers->cancel, err);
}

static void upload_events(void *arg)
{
	struct observers *observers = arg;

	observers->put_failed =
		put_note(observers, "ledger", observers->parts + 1, observers->part.data,
			 observers->part.size, &observers->err) < 0;
}

/* A part that could not be uploaded is the next one again. */
static void on_events_uploaded(void *arg)
{
	struct observers *observers = arg;

	observers->putting = false;
	if (observers->put_failed) {
		log_debug("cannot upload the event log, retrying: %s", observers->err.text);
		return;
	}
	observers->parts++;
	bytes_release(&observers->part);
}

/* False: there is none. */
static bool begin_part(struct observers *observers)
{
	if (observers->part.size == 0)
		event_buffer_extract(&observers->event_buffer, &observers->part);
	return observers->part.size > 0;
}

static void on_event_upload_due(struct timer *timer)
{
	struct observers *observers = container_of(timer, struct observers, timer);

	loop_arm(observers->job.loop, timer, clock_monotonic_ms() + EVENT_UPLOAD_MS);
	/* While a checkpoint has to become durable soon, it gets all of the bandwidth.
	 * observers_record_end() uploads the rest. */
	if (observers->hurried || observers->putting || !observers->storage ||
	    !begin_part(observers))
		return;
	observers->putting = observers->put_failed = true;
	workers_run(observers->workers, upload_events, on_events_uploaded, observers);
}

/* --- webhook --- */

/* `outcome` NULL: the job is running. */
static char *format_notification(const struct observers *observers, const char *event,
				 const char *outcome, int exit_code)
{
	auto_json json_t *status = observers->job.status(observers->job.arg);
	json_t *notice = json_object_get(status, "notice");
	json_t *left = json_object_get(notice, "seconds_left");
	auto_json json_t *facts = NULL;
	auto_free char *durable = text_copy(json_text_or(status, "durable", ""));
	char host[65] = "";

	if (*durable && json_number_or(status, "step", -1) >= 0)
		text_append(&durable, ", step %lld", (long long)json_number_or(status, "step", -1));
	gethostname(host, sizeof(host) - 1);
	facts = json_pack("{s:s, s:s, s:i, s:s, s:s?, s:s?, s:s?, s:s, s:O*, s:O*}", "event", event,
			  "job", observers->job.name, "attempt",
			  (int)json_number_or(status, "attempt", 0), "host", host, "outcome",
			  outcome, "source", json_text_or(notice, "source", NULL), "reason",
			  json_text_or(notice, "reason", NULL), "durable", durable, "labels",
			  observers->job.labels, "seconds_left",
			  json_is_number(left) ? left : NULL);
	if (outcome)
		json_object_set_new(facts, "exit_code", json_integer(exit_code));
	return notification_body(observers->job.notify, facts);
}

struct pending_webhook {
	struct pending_webhook *next;
	struct observers *observers;
	char *body;
	struct err err;
	bool failed;
};

static void post_webhook(void *arg)
{
	struct pending_webhook *pending_webhook = arg;
	struct observers *observers = pending_webhook->observers;

	pending_webhook->failed =
		notification_post(notification_url(observers->job.notify), pending_webhook->body,
				  &observers->cancel, &pending_webhook->err) < 0;
}

static void on_webhook_posted(void *arg)
{
	struct pending_webhook *pending_webhook = arg;

	if (pending_webhook->failed)
		log_warn("--notify: %s", pending_webhook->err.text);
}

static void queue_webhook(struct observers *observers, const char *event)
{
	struct pending_webhook *pending_webhook;

	if (!observers->job.notify)
		return;
	pending_webhook = memory_new(sizeof(*pending_webhook));
	pending_webhook->observers = observers;
	pending_webhook->body = format_notification(observers, event, NULL, 0);
	pending_webhook->next = observers->pending_webhooks;
	observers->pending_webhooks = pending_webhook;
	workers_run(observers->workers, post_webhook, on_webhook_posted, pending_webhook);
}

/* --- textfile --- */

static void write_textfile(struct observers *observers, const int *exit_code)
{
	auto_free char *text = NULL;
	struct err err;

	if (!observers->job.metrics_file || observers->textfile_failed)
		return;
	text = metrics_text(observers, exit_code);
	if (held_directory_replace_file(observers->job.metrics_file, text, strlen(text), &err) == 0)
		return;
	observers->textfile_failed = true;
	log_warn("--metrics-file: %s", err.text);
}

/* --- the events --- */

static bool changes_metrics(const char *event)
{
	static const char *const events[] = {"launched", "restored",
					     "durable",  "snapshot_failed",
					     "notice",   "child_exited",
					     NULL};

	return text_is_one_of(event, events);
}

static void on_event(void *arg, const char *event, json_t *line, const char *text)
{
	struct observers *observers = arg;
	const char *kind = json_text_or(line, "kind", "");

	counters_add(observers->counters, event, line);
	if (observers->job.has_store)
		event_buffer_add(&observers->event_buffer, text);
	if (!observers->job.loop->stopped && changes_metrics(event))
		write_textfile(observers, NULL);
	if (text_equal(event, "notice") && text_equal(kind, "stop"))
		queue_webhook(observers, "notice");
	else if (text_equal(event, "notice") && text_equal(kind, "cancelled"))
		queue_webhook(observers, "cancelled");
}

/* It is read at the end alone, when all that was to be kept may be lost. */
static void check_log(const char *path)
{
	auto_free char *directory = text_copy(path);
	char *slash = strrchr(directory, '/');
	struct err why;

	if (!slash)
		return;
	slash[slash == directory] = '\0';
	auto_close int there = held_directory_open(directory, &why);
	if (there < 0 && why.kind == ERR_NOT_FOUND)
		log_warn("--log: there is no directory %s, so nothing of %s is kept: name the file "
			 "that the job's output goes to",
			 directory, path);
}

int observers_open(const struct observed_job *job, struct observers *observers, struct err *err)
{
	if (job->log)
		check_log(job->log);
	observers->job = *job;
	observers->counters = counters_new();
	if (cancel_init(&observers->cancel, err) < 0 ||
	    workers_new(job->loop, 1, &observers->workers, err) < 0)
		return -1;
	observers->timer.fired = on_event_upload_due;
	loop_arm(job->loop, &observers->timer, clock_monotonic_ms() + EVENT_UPLOAD_MS);
	job->events->on_event = on_event;
	job->events->arg = observers;
	return 0;
}

int observers_open_metrics(struct observers *observers, const char *session, struct err *err)
{
	if (!observers->job.metrics)
		return 0;
	if (!session)
		return err_set(err, ERR_FAILED, "no runtime directory to ask the job through");
	return metrics_server_start(observers->job.metrics, session, observers->job.states,
				    &observers->server, err);
}

/* --- the end --- */

/* Reads the last LOG_TAIL bytes of the file. */
static int read_tail(const char *path, struct bytes *tail, struct err *err)
{
	/* The job may have made a link of it. */
	auto_close int fd = held_directory_open_file(path, O_RDONLY, 0, err);
	off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);

	if (fd < 0)
		return -1;
	if (size < 0)
		return err_os(err, errno, "%s", path);
	if (bytes_reserve(tail, LOG_TAIL, err) < 0)
		return -1;
	tail->size = file_read_at(fd, tail->data, LOG_TAIL,
				  size > LOG_TAIL ? (uint64_t)size - LOG_TAIL : 0);
	return 0;
}

static void upload_log_tail(struct observers *observers)
{
	auto_(bytes_release) struct bytes tail = {0};
	struct err err;

	if (!observers->job.log)
		return;
	if (read_tail(observers->job.log, &tail, &err) < 0 ||
	    put_note(observers, "log", 1, tail.data, tail.size, &err) < 0)
		log_warn("--log: cannot upload the end of the log: %s", err.text);
}

static void upload_end_notes(struct observers *observers, int exit_code)
{
	auto_free char *text = NULL;

	if (!observers->storage)
		return;
	text = metrics_text(observers, &exit_code);
	do {
		observers->put_failed = false;
		if (!begin_part(observers))
			break;
		upload_events(observers);
		on_events_uploaded(observers);
	} while (!observers->put_failed);
	if (exit_code != 0)
		upload_log_tail(observers);
	put_note(observers, "metrics", 1, text, strlen(text), &observers->err);
}

void observers_notify_end(struct observers *observers, const char *outcome, int exit_code,
			  int64_t until_ms)
{
	struct pending_webhook pending_webhook = {.observers = observers};

	if (!observers->workers || !observers->job.notify)
		return;
	cancel_set_deadline(&observers->cancel, until_ms);
	pending_webhook.body = format_notification(observers, "ended", outcome, exit_code);
	post_webhook(&pending_webhook);
	on_webhook_posted(&pending_webhook);
	free(pending_webhook.body);
}

void observers_record_end(struct observers *observers, int exit_code, int64_t until_ms)
{
	if (!observers->workers)
		return;
	cancel_set_deadline(&observers->cancel, until_ms);
	workers_free(observers->workers); /* waits for a running upload, up to the deadline */
	observers->workers = NULL;
	if (observers->putting)
		on_events_uploaded(observers);
	write_textfile(observers, &exit_code);
	upload_end_notes(observers, exit_code);
}

void observers_close(struct observers *observers)
{
	metrics_server_stop(observers->server);
	if (observers->job.events)
		observers->job.events->on_event = NULL;
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
	json_decref(observers->counters);
	event_buffer_release(&observers->event_buffer);
	bytes_release(&observers->part);
}

/* --- the event log --- */

int event_log_open(struct event_log *event_log, const char *path, struct err *err)
{
	event_log->fd = -1;
	if (!path)
		return 0;
	event_log->fd = held_directory_open_file(path, O_WRONLY | O_CREAT | O_APPEND, 0666, err);
	return event_log->fd < 0 ? err_wrap(err, "--events") : 0;
}

void event_log_close(struct event_log *event_log)
{
	if (event_log->fd >= 0)
		close(event_log->fd);
	event_log->fd = -1;
}

static void write_line(struct event_log *event_log, const char *text)
{
	auto_free char *line = text_format("%s%s\n", event_log->cut ? "\n" : "", text);
	size_t size = strlen(line);
	ssize_t wrote;
	struct err err;

	do
		wrote = write(event_log->fd, line, size);
	while (wrote < 0 && errno == EINTR);
	wrote = wrote < 0 ? 0 : wrote;
	if ((size_t)wrote == size ||
	    file_write_all(event_log->fd, line + wrote, size - (size_t)wrote, &err) == 0) {
		event_log->cut = false;
	} else if (err.kind == ERR_RETRY) {
		/* A pipe accepts part of a line only if that is longer than PIPE_BUF (pipe(7)). */
		event_log->cut |= wrote > 0;
		if (!event_log->behind)
			log_warn("the event log lacks lines: %s", err.text);
		event_log->behind = true;
	} else {
		log_warn("cannot write the event log, closing it: %s", err.text);
		event_log_close(event_log);
	}
}

void event_log_add(struct event_log *event_log, const char *event, const char *format, ...)
{
	auto_json json_t *line = NULL;
	auto_json json_t *more = NULL;
	auto_free char *text = NULL;
	char time[32];

	line = json_pack("{s:s, s:I, s:s}", "time",
			 clock_format(clock_wall_ms(), time, sizeof(time)), "monotonic_ms",
			 (json_int_t)clock_monotonic_ms(), "event", event);
	if (format) {
		va_list args;
		json_error_t where;

		va_start(args, format);
		more = json_vpack_ex(&where, 0, format, args);
		va_end(args);
		json_object_update(line, more);
	}
	/* Not earlier: `more` owns the arguments. */
	if (event_log->fd < 0 && !event_log->on_event)
		return;
	text = json_line(line);
	if (!text)
		return;
	if (event_log->on_event)
		event_log->on_event(event_log->arg, event, line, text);
	if (event_log->fd >= 0)
		write_line(event_log, text);
}
