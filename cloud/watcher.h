/* PRIVATE. What the thread of one source gets, and the functions by which it reports. */
#ifndef WATCHER_H
#define WATCHER_H

#include "base/cancel.h"
#include "base/clock.h"
#include "base/instance_metadata.h"
#include "cloud.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- source_table.c: which cloud is this? --- */

/* PRIVATE. Which cloud is this? */

/* What the environment and the firmware tell. The caller's thread reads it once: getenv() on other
 * threads would race with setenv(). */
struct environment {
	struct metadata_endpoint endpoints[METADATA_SERVICES];
	struct metadata_aws_settings aws;
	char slurm_job[32], slurm_end[32]; /* SLURM_JOB_ID, SLURM_JOB_END_TIME; "": not set */
	/* SLURM_ARRAY_JOB_ID, SLURM_ARRAY_TASK_ID: the number of an array's last element means all
	 * of them to scontrol */
	char slurm_array[32], slurm_element[32];
	/* REPRIEVE_GCP_NOTICE: the length of the preemption notice configured for the VM */
	char gcp_notice[32];
	bool dmi_readable;
	char dmi_vendor[64], dmi_product[64], dmi_bios[64], dmi_chassis[64];
};

void detect_read_environment(struct environment *environment);

enum {
	DETECT_AWS = 1,
	DETECT_GCP = 2,
	DETECT_AZURE = 4,
	DETECT_PROBE = 8, /* unknown: probe 169.254.169.254 */
	DETECT_ALIBABA = 16,
	DETECT_TENCENT = 32,
	DETECT_SLURM = 64, /* in addition to any of them: a Slurm job */
};

/* PURE. The set of DETECT_*: every override that is set, otherwise by the firmware; 0: a machine of
 * none of these clouds. */
unsigned detect_sources(const struct environment *environment);

/* --- watcher.c: health --- */

/* PRIVATE. PURE. When does a source without usable replies become news? */

enum {
	HEALTH_START_PATIENCE_MS = 3000, /* for a source that never worked */
	/* for one that did: a 503 or a renewed token is no news */
	HEALTH_ARMED_PATIENCE_MS = 30000,
};

enum poll_outcome {
	POLL_STARTING,
	POLL_KNOWN,
	POLL_UNKNOWN,
	POLL_UNAVAILABLE
};

struct health {
	enum source_health state;
	int64_t started_ms;
	int64_t unknown_since_ms; /* CLOCK_NEVER: the last reply was usable */
};
#define HEALTH_START(now_ms) \
	((struct health){.started_ms = (now_ms), .unknown_since_ms = CLOCK_NEVER})

/* Takes the result of a poll that has ended. Returns whether the state has changed and is to be
 * reported. */
bool health_note(struct health *health, enum poll_outcome outcome, int64_t now_ms);

struct watcher;

/* --- for providers --- */

int64_t watcher_deadline_notice_ms(struct watcher *watcher);
void watcher_set_endpoint(struct watcher *watcher, const char *endpoint);

/* Call one of these after each poll. They count polls and report a change of health. */
void watcher_known(struct watcher *watcher);
void watcher_unknown(struct watcher *watcher, const char *why);
/* Reports what an armed source lacks: once, and again when it is something else. "": nothing, which
 * is no news. */
void watcher_set_note(struct watcher *watcher, const char *text);
void watcher_unavailable(struct watcher *watcher, const char *why);
/* Reports why the first reply will take a while. */
void watcher_starting(struct watcher *watcher, const char *why);

/*
 * Reports a notice. May be called with the same one at each poll: only news is passed on (a new
 * identity or kind, a deadline more than a second earlier). CANCELLED needs only source and
 * identity, and is passed on if that notice was.
 */
void watcher_notice(struct watcher *watcher, const struct notice *notice);

/* --- metadata_request.c --- */

struct reply;

/* Opens a client of the metadata service where the environment has it, and names it as the source's
 * endpoint. False: the source is unavailable, which is reported. The caller closes the client. */
bool watcher_open(struct watcher *watcher, enum metadata_service service, int64_t timeout_ms,
		  struct instance_metadata *client);
/* instance_metadata_get() until the watch stops; `reply` borrows from the client. */
int watcher_get(struct watcher *watcher, struct instance_metadata *client, const char *path,
		struct reply *reply, struct err *err);

/* Sleeps; false: the thread must end. */
bool watcher_sleep(struct watcher *watcher, int64_t milliseconds);
bool watcher_stopping(struct watcher *watcher);

/* --- for the watch --- */

/* Shared by the watchers of one watch. */
struct watcher_shared {
	/* without its texts */
	struct cloud_options options;
	struct environment environment;
	struct cancel cancel;
	/* Guards what changes in all watchers. Not held during a callback, which may ask for
	 * states. */
	pthread_mutex_t mutex;
};

struct watcher {
	struct watcher_shared *shared;
	/* the text after the colon: the path of a file source; "" without */
	const char *argument;
	/* guarded by shared->mutex */
	struct health health;
	struct source_state state;
	struct notices announced;
};

struct source_state watcher_state(struct watcher *watcher);

/* --- watcher.c: what is announced --- */

/* PRIVATE. Remembers the notices of one resource, to withdraw those whose events have
 * disappeared. */

enum {
	ANNOUNCED_MOST = 8
};

/* Zero-initialise. */
struct announced {
	struct notice items[ANNOUNCED_MOST];
	size_t count;
	/* number of well-formed replies in a row that lacked one of them */
	unsigned absent;
};

/* Reports the notices, and remembers them up to ANNOUNCED_MOST. */
void announced_add(struct announced *announced, struct watcher *watcher,
		   const struct notice *notices, size_t count);

/*
 * Withdraws those that are not among `notices`, the complete current list. Only the second such
 * call in a row withdraws, because one reply may come from a server that does not know of an event
 * yet.
 */
void announced_withdraw_missing(struct announced *announced, struct watcher *watcher,
				const struct notice *notices, size_t count, const char *reason);

/* Reports that this notice is over, and empties it; one of kind NONE was not reported. */
void announced_withdraw(struct watcher *watcher, struct notice *notice, const char *reason);
/* Is one of them of this identity? */
bool announced_has(const struct notice *notices, size_t count, const char *identity);

/* --- deadline_source.c --- */

/* PRIVATE. PURE, but for the local time zone. A known end: --deadline, a time limit. */

enum {
	/* Ignore an end that passed longer ago than this: it is from an earlier start, and would
	 * stop every new one. */
	DEADLINE_STALE_MS = 60 * 1000,
};

/*
 * Parses "2h", "90" (seconds from now), "2026-04-11T22:05:00Z", "Sat, 11 Apr 2026 22:05:00 GMT", or
 * seconds since 1970 (from 1000000000 on). *is_span: it is a duration, so setting the clock does
 * not move it. False for anything else.
 */
bool deadline_parse(const char *text, int64_t now_wall_ms, int64_t *wall_ms, bool *is_span);

/* What `scontrol --oneliner show job` says of a job's end: its EndTime, in the local zone. It is
 * "Unknown" where there is no time limit. */
enum slurm_end {
	SLURM_END_KNOWN, /* *wall_ms */
	SLURM_END_NEVER,
	SLURM_END_UNREADABLE,
};
enum slurm_end slurm_end_parse(const char *shown, int64_t *wall_ms);

enum deadline_phase {
	DEADLINE_AHEAD, /* *wait_ms: time until the notice is due */
	DEADLINE_NEAR,  /* the notice is due */
	DEADLINE_STALE,
};
/* How long before a time limit the notice is given, in ms: `wanted_ms`, but a short job keeps three
 * quarters of its time. */
int64_t deadline_fit_notice_ms(int64_t left_ms, int64_t wanted_ms);

enum deadline_phase deadline_decide(int64_t left_ms, int64_t notice_ms, int64_t *wait_ms);

/* --- provider --- */

/* PRIVATE. What a source is; watcher.h has what its thread may report. Each has one file, and one
 * row in source_table.c. */

struct watcher;

struct provider {
	const char *name;
	/* Runs on the source's own thread and may block, until shared->cancel is raised. */
	void (*run)(struct watcher *watcher);
	/* Whether this cloud's metadata service replies at `endpoint`, judged by headers and
	 * content, not by being reachable. NULL: there is no probe. */
	bool (*probe)(const char *endpoint, struct cancel *cancel);
	/* Checks the text after the colon ("": none). ERR_INVALID says what to write. NULL: no text
	 * is allowed. */
	int (*check)(const char *argument, struct err *err);
	/* Implements cloud_watch_approve(). NULL: this cloud has no approval. */
	int (*approve)(const struct environment *environment, const char *identity,
		       struct cancel *cancel, struct err *err);
};

extern const struct provider provider_aws, provider_gcp, provider_azure, provider_alibaba,
	provider_tencent, provider_slurm, provider_deadline, provider_file;

/* --- source_table.c: the list --- */

/* PRIVATE. PURE. Parses the list of sources as the user writes it. */

struct source_choice {
	const char *name;     /* "file" */
	const char *argument; /* the text after the colon; "": none */
};

/*
 * Takes the next source off `*list`, which is modified; false at its end. Both strings point into
 * the list.
 */
bool source_list_next(char **list, struct source_choice *choice);

/* --- source_table.c: the table --- */

/* PRIVATE. The table of sources, and the choice of those that are watched: the named ones and those
 * that the environment and firmware suggest. Only source_table_probe() blocks. */

struct source_entry {
	const struct provider *provider; /* NULL: a probe finds it */
	char *argument;                  /* the text after the colon; "": none */
};

/* Zero-initialise. */
struct source_table {
	struct source_entry items[CLOUD_SOURCES_MOST];
	size_t count;
};

/*
 * Fills `table` from `sources` and `deadline` of struct cloud_options; each source counts once.
 * ERR_INVALID names an unknown source, or says what to write. Release the table after a failure
 * too.
 */
int source_table_select(const char *sources, const char *deadline,
			const struct environment *environment, struct source_table *table,
			struct err *err);
void source_table_release(struct source_table *table);

/* NULL for an unknown name. */
const struct provider *provider_by_name(const char *name);

/* The first provider whose metadata service replies at `endpoint`, or NULL. Blocks for at most a
 * second. */
const struct provider *source_table_probe(const char *endpoint, struct cancel *cancel);

#endif
