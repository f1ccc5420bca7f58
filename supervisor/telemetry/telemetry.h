/*
 * supervisor/telemetry/: how the outside learns what happens: the event log, and counters, metrics,
 * webhooks and probes that follow it.
 *
 *	observers.c	every event as a JSON line (--events), and all that follows them
 *	metrics.c	labels, counters, probes, the status for Prometheus, over HTTP
 *	notify.c	notices and their sources, as text and JSON; the webhook
 *	redact.c	PURE: removes secrets from a command line
 */
#ifndef TELEMETRY_H
#define TELEMETRY_H

#include "base/cancel.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/text.h"
#include "cloud/cloud.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct storage;
struct workers;

/* --- observers.c: the event log --- */

/*
 * The event log (--events FILE): every event as a JSON line {"time", "monotonic_ms", "event", ...},
 * written by one write(2). If the file cannot be written, that is logged once and the file is
 * closed. It never blocks: if the reader of a pipe (/dev/fd/3, a FIFO) is too slow, lines are
 * dropped, which is also logged once.
 */
struct event_log {
	int fd;      /* -1: no file is written */
	bool behind; /* lines were dropped, and that is logged */
	bool cut;    /* the last line was written without its end */
	/* Called for every event; may be NULL. `line` is the object, `text` its line without the
	 * newline; both borrowed. */
	void (*on_event)(void *arg, const char *event, json_t *line, const char *text);
	void *arg;
};

/* `path`: NULL for no file. Errors are those of open(2), and ERR_DENIED for a link of another user.
 */
int event_log_open(struct event_log *event_log, const char *path, struct err *err);
void event_log_close(struct event_log *event_log);

/* `format` and the rest are those of json_pack() for an object; NULL: no further fields. Call on
 * the main thread only. */
void event_log_add(struct event_log *event_log, const char *event, const char *format, ...);

/* --- metrics.c --- */

/* PURE. The user's labels for a run, in reports and metrics: "team=nlp,project=digits" adds two;
 * the last value of a name wins. A name is [A-Za-z_][A-Za-z0-9_]*, as Prometheus requires, and none
 * that our metrics or Prometheus use. ERR_INVALID names the offending one. */
int labels_add(json_t *labels, const char *text, struct err *err);

/* PURE. What the events of this run have come to, for metrics and status: an object, which the
 * caller owns. `event`: its name in the event log. `line`: its object, borrowed. */
json_t *counters_new(void);
void counters_add(json_t *counters, const char *event, json_t *line);

/*
 * PURE. A supervisor's status (`reprieve status --json`) as Prometheus text, exposition format
 * 0.0.4 (prometheus.io/docs/instrumenting/exposition_formats). Every metric is named reprieve_*;
 * every sample has the label "run", which is the job's name, and the user's labels. `states` lists
 * every state that a run can be in, and ends with NULL. `now_ms`: milliseconds since 1970. The
 * caller frees.
 */
char *metrics_format(json_t *status, const char *const *states, int64_t now_ms);

/*
 * PURE. What a health probe answers, given the supervisor's status. Kubernetes kills a container
 * whose probe fails, so a probe fails only if a kill would help: never while a checkpoint is being
 * restored, saved or uploaded, however long that takes.
 */
enum health_probe_kind {
	HEALTH_PROBE_LIVE,  /* the supervisor replies */
	HEALTH_PROBE_READY, /* the job is running, and no stop is announced */
	HEALTH_PROBE_FRESH, /* the durable checkpoint is at most `fresh_ms` old */
};

struct health_probe_result {
	bool passed;
	const char *phase; /* "restoring", "training", "saving", "draining", "ended", "unknown" */
};

/* `status` NULL: unknown, because the supervisor runs but has too many clients. */
struct health_probe_result health_probe_decide(enum health_probe_kind kind, int64_t fresh_ms,
					       json_t *status);

/*
 * --metrics ADDRESS: serves /metrics for Prometheus, and /livez and /readyz for HTTP probes (200 or
 * 503). Its own threads ask the supervisor through the control socket, as `reprieve status` does,
 * so that the loop never waits for a scrape.
 */

/* PURE. Parses "9090", ":9090", "127.0.0.1:9090" or "[::1]:9090". A port alone means 127.0.0.1;
 * ":PORT" means all addresses, with `host` "". The caller frees *host. ERR_INVALID: not an
 * address. */
int metrics_server_parse_address(const char *address, char **host, uint16_t *port, struct err *err);

struct metrics_server;

/*
 * `address` as above; ":9090" includes IPv6 if the machine has it. `session`:
 * the supervisor's runtime directory, copied. `states`: as in metrics_format(), borrowed.
 * ERR_INVALID: not an address. ERR_EXISTS: the port is in use.
 */
int metrics_server_start(const char *address, const char *session, const char *const *states,
			 struct metrics_server **server, struct err *err);
void metrics_server_stop(struct metrics_server *server); /* NULL is fine */

/* --- notify.c --- */

/* Notices and notice sources, for people and as JSON, are the same in status, watch, log and the
 * job's notice file. */

/* "preemption notice from aws (spot terminate at ...): 1 min 57 s left"; a guessed time is "about".
 * Returns `buffer`. */
const char *notice_format(const struct notice *notice, char *buffer, size_t capacity);

/* {"kind", "source", "identity", "reason", "deadline": RFC 3339 or null, "seconds_left": N or null,
 * "guessed"}. The caller owns it. */
json_t *notice_format_json(const struct notice *notice);

/* "notices from aws: armed (http://...)". Returns `buffer`. */
const char *notice_format_source(const struct source_state *state, char *buffer, size_t capacity);
/* {"name", "health", "why", "endpoint", "polls", "unknowns"}. The caller owns it. */
json_t *notice_format_source_json(const struct source_state *state);
/* An array of them; `watch` NULL: empty. The caller owns it. */
json_t *notice_format_sources_json(struct cloud_watch *watch);

/* The file exists while a stop stands, and not for advice: a job that exits when it sees the file
 * must not exit for advice. `stop`: as notice_format_json(), but for "seconds_left"; NULL: removes
 * the file. `path` NULL: there is none. */
void notice_format_write_file(const char *path, const struct notice *stop);

/*
 * The body of the POST; the caller frees. `facts`: "event" (notice, cancelled, ended), "job",
 * "attempt", "host", "outcome" and "exit_code" once it has ended, "source", "reason" and
 * "seconds_left" of the notice, "durable" ("3-12, step 1200"; "": nothing), "labels". They stand
 * beside "text", which says them to people. For Slack's incoming webhooks
 * (https://hooks.slack.com/, or any URL after "slack:") it is {"text": ...} alone, because they
 * reject unknown fields (api.slack.com/messaging/webhooks).
 */
char *notification_body(const char *url, json_t *facts);

/* The URL without "slack:". Borrowed from `url`. */
const char *notification_url(const char *url);

/* "https://hooks.example.com" of "https://user:SECRET@hooks.example.com/services/SECRET". The
 * caller frees. */
char *notification_origin(const char *url);

/* Sends the body. Blocks for some seconds at most. ERR_FAILED: the status is not 2xx.
 * ERR_DENIED: its certificate is not trusted. Other kinds: no reply. The error names host and
 * status, never the path, which is a secret of most webhooks. */
int notification_post(const char *url, const char *body, struct cancel *cancel, struct err *err);

/* --- observers.c --- */

/*
 * PURE. Collects the lines of the event log on their way to the store, where they are uploaded in
 * parts. If the store takes nothing, the oldest lines beyond EVENT_BUFFER_MOST bytes are dropped,
 * and a line says how many.
 */
#define EVENT_BUFFER_MOST (512 * 1024)

struct event_buffer {
	struct bytes lines; /* each with its newline */
	unsigned dropped;
};

/* `line` without a newline. */
void event_buffer_add(struct event_buffer *event_buffer, const char *line);

/* Moves all lines into `part`, which is empty if there are none. The caller releases it. */
void event_buffer_extract(struct event_buffer *event_buffer, struct bytes *part);

void event_buffer_release(struct event_buffer *event_buffer);

/*
 * What follows the events of one run: the event log in the store, counters and metrics, a textfile,
 * a webhook, the tail of the job's log. Uploads and webhooks have a thread of their own, and no
 * checkpoint ever waits for them. Nothing blocks unless it says so; what fails is logged.
 */
/* All borrowed, until observers_close(). */
struct observed_job {
	struct loop *loop;
	struct event_log *events; /* followed from the start to the close */
	const char *name;
	json_t *labels;            /* NULL: none */
	const char *const *states; /* as in metrics_format() */
	bool has_store;            /* the event log is kept for observers_set_store() */
	const char *metrics;       /* --metrics, or NULL, as those below */
	const char *metrics_file;
	const char *notify;
	const char *log;
	json_t *(*status)(void *arg); /* what status tells without a look at the job; owned by us */
	void *arg;
};

/* For others: `counters`, to read, and `hurried`, to set. */
struct observers {
	struct observed_job job;
	json_t *counters;
	bool hurried; /* a checkpoint has to become durable soon: it gets all of the bandwidth */
	struct storage *storage; /* NULL: nothing is uploaded */
	unsigned attempt;
	struct workers *workers;
	struct cancel cancel; /* its fd is -1 before observers_open() */
	struct event_buffer event_buffer;
	struct bytes part; /* of the event log, uploaded next or just now */
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

/* --- redact.c --- */

/*
 * PURE. Removes secrets from a job's command line, which is recorded in the store, where everybody
 * who can read the bucket sees it. A secret is told by the name of its option, variable, header,
 * member or parameter, or by its place before the host of a URL. One without either cannot be
 * distinguished from a path.
 */

/*
 * Returns command[index] with "***" for the value of --api-key, --token=, HF_TOKEN=,
 * "Authorization: ", the password of a URL and the like, also inside a script of sh -c. The words
 * before it say what it is. The caller frees.
 */
char *redact_argument(char *const *command, size_t index);

/* The same of the whole text of a shell command. The caller frees. */
char *redact_script(const char *script);

/* The words of a command, redacted, as an array, of which a very long one (128 KiB) is cut;
 * `command` ends with NULL. The caller owns it. */
json_t *redact_command(char *const *command);

#endif
