/*
 * What follows the events of one run: the event log in the store, counters and metrics, a textfile,
 * a webhook, the tail of the job's log. Uploads and webhooks have a thread of their own, and no
 * checkpoint ever waits for them. Nothing blocks unless it says so; what fails is logged.
 */
#ifndef OBSERVERS_H
#define OBSERVERS_H

#include "base/cancel.h"
#include "base/err.h"
#include "base/loop.h"
#include "counters.h"
#include "event_buffer.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_log;
struct storage;
struct workers;

#define OBSERVED_DURABLE_TEXT 80

/* What a webhook tells of the run, just now. */
struct observed_run {
	unsigned attempt;                    /* 0: none is claimed */
	const char *source, *reason;         /* of the standing stop; NULL: there is none */
	int64_t deadline_ms;                 /* of that, monotonic; CLOCK_NEVER: unknown */
	char durable[OBSERVED_DURABLE_TEXT]; /* "3-12, step 1200"; "": nothing */
};

/* All borrowed, until observers_close(). */
struct observed_job {
	struct loop *loop;
	struct event_log *events; /* followed from the start to the close */
	const char *name;
	const char *const *labels; /* as --label gives them */
	size_t label_count;
	const char *const *states; /* as in metrics_format() */
	bool has_store;            /* the event log is kept for observers_set_store() */
	const char *metrics;       /* --metrics, or NULL, as those below */
	const char *metrics_file;
	const char *notify;
	const char *log;
	json_t *(*status)(void *arg); /* what `reprieve status` tells; owned by us */
	void (*look)(void *arg, struct observed_run *run);
	void *arg;
};

/* For others: `counters`, to read, and `hurried`, to set. */
struct observers {
	struct observed_job job;
	struct counters counters;
	bool hurried; /* a checkpoint has to become durable soon: it gets all of the bandwidth */
	struct storage *storage; /* NULL: nothing is uploaded */
	unsigned attempt;
	struct workers *workers;
	struct cancel cancel; /* its fd is -1 before observers_open() */
	struct event_buffer event_buffer;
	struct bytes part; /* of the event log, being uploaded */
	struct err err;    /* of the last upload */
	struct timer timer;
	unsigned parts; /* of the event log, uploaded */
	bool putting, put_failed, textfile_failed;
	struct pending_webhook *pending_webhooks; /* all of this run, sent or not */
	struct metrics_server *server;
};

/* `observers` is zeroed, but for cancel.fd. On -1, too, observers_close() releases it. */
int observers_open(const struct observed_job *job, struct observers *observers, struct err *err);
/* --metrics. `session`: the supervisor's runtime directory; NULL: there is none. */
int observers_open_metrics(struct observers *observers, const char *session, struct err *err);
/* From now on the event log is uploaded, to the notes of this attempt. */
void observers_set_store(struct observers *observers, struct storage *storage, unsigned attempt);
/* Sends the last webhook. Blocks until `until_ms` at most. `outcome`: its name. */
void observers_notify_end(struct observers *observers, const char *outcome, int exit_code,
			  int64_t until_ms);
/* After the end record: uploads event log, metrics and, of a failure, the log's tail. Blocks until
 * `until_ms` at most. */
void observers_record_end(struct observers *observers, int exit_code, int64_t until_ms);
void observers_close(struct observers *observers);

json_t *observers_labels(const struct observers *observers); /* owned by the caller */

#endif
