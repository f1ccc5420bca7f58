/*
 * Who else learns what happens: the ledger in the store, the counters behind metrics, a textfile, a webhook, the tail of the job's log. All of it
 * hears the events (event_log.h), works beside the job on a thread of its own, and is never waited for while a checkpoint is on its way.
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

#define LEDGER_MS 60000
#define LOG_TAIL (256 * 1024)

json_t *job_labels(const struct job *job)
{
	return labels_json(job->options->labels, job->options->label_count);
}

/* --- the ledger --- */

static bool can_keep(const struct job *job)
{
	return job->snapshots && job->resume.attempt.number > 0;
}

static void ledger_put(void *arg)
{
	struct job *job = arg;
	struct observers *observers = &job->observers;

	observers->put_failed =
		storage_put_note(job->resume.storage, job->resume.attempt.number, "ledger",
			observers->parts + 1, observers->part.data, observers->part.size,
			&observers->cancel, &observers->err) < 0;
}

static void ledger_settled(struct job *job)
{
	struct observers *observers = &job->observers;

	observers->putting = false;
	if (observers->put_failed) {
		ledger_return(&observers->ledger, &observers->part);
		log_debug("the ledger waits: %s", observers->err.text);
		return;
	}
	observers->parts++;
	bytes_release(&observers->part);
}

static void ledger_done(void *arg)
{
	ledger_settled(arg);
}

static void ledger_due(struct timer *timer)
{
	struct job *job = container_of(timer, struct job, observers.timer);
	struct observers *observers = &job->observers;

	/* Not beside a checkpoint that has to be durable soon; the end writes what is left. */
	if (job->state != JOB_RUNNING || observers->putting || !can_keep(job)) {
		loop_arm(&job->loop, timer, clock_monotonic_ms() + LEDGER_MS);
		return;
	}
	ledger_take(&observers->ledger, &observers->part);
	observers->putting = observers->put_failed = true;
	workers_run(observers->workers, ledger_put, ledger_done, job);
}

/* --- webhook --- */

static void describe_host(char host[65])
{
	host[0] = '\0';
	gethostname(host, 64);
	host[64] = '\0';
}

static char *body_of(const struct job *job, const char *event, const struct outcome *outcome)
{
	const struct notice *stop = notices_stop(&job->notices);
	auto_json json_t *labels = job_labels(job);
	char durable[DURABLE_TEXT], host[65];
	struct notification notification = {.event = event,
		.job = job->name.text,
		.host = host,
		.attempt = job->resume.attempt.number,
		.outcome = outcome ? outcome->name : NULL,
		.exit_code = outcome ? outcome->exit_code : 0,
		.source = stop ? stop->source : NULL,
		.reason = stop ? stop->reason : NULL,
		.seconds_left = -1,
		.durable = job_describe_durable(job, durable),
		.labels = labels};

	describe_host(host);
	if (stop && stop->deadline_ms != CLOCK_NEVER)
		notification.seconds_left = (double)clock_left_ms(stop->deadline_ms) / 1000;
	return notification_body(job->options->notify, &notification);
}

struct errand {
	struct errand *next;
	struct job *job;
	char *body;
	struct err err;
	bool failed;
};

static void errand_run(void *arg)
{
	struct errand *errand = arg;
	const char *url = notification_url(errand->job->options->notify);

	errand->failed =
		webhook_post(url, errand->body, &errand->job->observers.cancel, &errand->err) < 0;
}

static void errand_done(void *arg)
{
	struct errand *errand = arg;

	if (errand->failed)
		log_warn("--notify: %s", errand->err.text);
}

static void notify(struct job *job, const char *event)
{
	struct errand *errand;

	if (!job->options->notify)
		return;
	errand = memory_new(sizeof(*errand));
	errand->job = job;
	errand->body = body_of(job, event, NULL);
	errand->next = job->observers.errands;
	job->observers.errands = errand;
	workers_run(job->observers.workers, errand_run, errand_done, errand);
}

/* --- textfile --- */

static char *metrics_text(const struct job *job, const struct outcome *outcome)
{
	auto_json json_t *status = job_status(job);

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

/* --- hearing --- */

static bool changes_metrics(const char *event)
{
	static const char *const events[] = {
		"launched", "restored", "durable", "snapshot_failed", "notice", "child_exited"};

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		if (text_equal(event, events[i]))
			return true;
	return false;
}

static void heard(void *arg, const char *event, json_t *line, const char *text)
{
	struct job *job = arg;
	const char *kind = json_text_or(line, "kind", "");

	counters_add(&job->observers.counters, event, line);
	if (job->store)
		ledger_add(&job->observers.ledger, text);
	if (job->state != JOB_OVER && changes_metrics(event))
		write_textfile(job, NULL);
	if (text_equal(event, "notice") && text_equal(kind, "stop"))
		notify(job, "notice");
	else if (text_equal(event, "notice") && text_equal(kind, "cancelled"))
		notify(job, "cancelled");
}

int job_open_observers(struct job *job, struct err *err)
{
	struct observers *observers = &job->observers;

	if (cancel_init(&observers->cancel, err) < 0 ||
		workers_new(&job->loop, 1, &observers->workers, err) < 0)
		return -1;
	observers->timer.fired = ledger_due;
	loop_arm(&job->loop, &observers->timer, clock_monotonic_ms() + LEDGER_MS);
	job->events.heard = heard;
	job->events.arg = job;
	return 0;
}

int job_open_metrics(struct job *job, struct err *err)
{
	if (!job->options->metrics)
		return 0;
	if (!job->session.directory)
		return err_set(err, ERR_FAILED, "there is no runtime directory to ask through");
	return metrics_server_start(job->options->metrics, job->session.directory, job_state_names,
		&job->observers.server, err);
}

/* --- the end --- */

/* The last LOG_TAIL bytes. */
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

static void keep_log(struct job *job)
{
	auto_(bytes_release) struct bytes tail = {0};
	struct err err;

	if (!job->options->log)
		return;
	if (read_tail(job->options->log, &tail, &err) < 0 ||
		storage_put_note(job->resume.storage, job->resume.attempt.number, "log", 1,
			tail.data, tail.size, &job->observers.cancel, &err) < 0)
		log_warn("--log: the end of the log is not kept: %s", err.text);
}

static void keep_notes(struct job *job, const struct outcome *outcome)
{
	struct observers *observers = &job->observers;
	auto_free char *text = metrics_text(job, outcome);

	if (!can_keep(job))
		return;
	ledger_take(&observers->ledger, &observers->part);
	if (observers->part.size > 0) {
		ledger_put(job);
		ledger_settled(job);
	}
	if (outcome->exit_code != 0)
		keep_log(job);
	storage_put_note(job->resume.storage, job->resume.attempt.number, "metrics", 1, text,
		strlen(text), &observers->cancel, &observers->err);
}

void job_notify_end(struct job *job, const struct outcome *outcome, int64_t until_ms)
{
	struct errand errand = {.job = job};

	if (!job->observers.workers || !job->options->notify ||
		!(job->facts.noticed || outcome->exit_code != 0))
		return;
	cancel_set_deadline(&job->observers.cancel, until_ms);
	errand.body = body_of(job, "over", outcome);
	errand_run(&errand);
	if (errand.failed)
		log_warn("--notify: %s", errand.err.text);
	free(errand.body);
}

void job_tell_observers_of_end(struct job *job, const struct outcome *outcome, int64_t until_ms)
{
	struct observers *observers = &job->observers;

	if (!observers->workers)
		return;
	cancel_set_deadline(&observers->cancel, until_ms);
	workers_free(observers->workers); /* waits for what is under way, until then */
	observers->workers = NULL;
	if (observers->putting)
		ledger_settled(job);
	write_textfile(job, outcome);
	keep_notes(job, outcome);
}

void job_close_observers(struct job *job)
{
	struct observers *observers = &job->observers;

	metrics_server_stop(observers->server);
	job->events.heard = NULL;
	if (!observers->workers && observers->cancel.fd < 0)
		return;
	cancel_raise(&observers->cancel);
	workers_free(observers->workers);
	cancel_release(&observers->cancel);
	while (observers->errands) {
		struct errand *errand = observers->errands;

		observers->errands = errand->next;
		free(errand->body);
		free(errand);
	}
	ledger_release(&observers->ledger);
	bytes_release(&observers->part);
}
