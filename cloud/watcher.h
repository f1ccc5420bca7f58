/* PRIVATE. What a source is, what its thread gets, and how it judges and reports. */
#ifndef WATCHER_H
#define WATCHER_H

#include "base/cancel.h"
#include "base/clock.h"
#include "base/instance_metadata.h"
#include "base/json.h"
#include "cloud.h"

#include <pthread.h>

/* --- reply.c: the reply of a metadata service, and the verdict on it. PURE --- */

struct reply {
	int status;
	const char *body; /* not NUL-terminated; may be NULL if size is 0 */
	size_t size;
	const char *flavor; /* Metadata-Flavor, or NULL */
	const char *etag;   /* or NULL */
	const char *server; /* or NULL */
	int64_t arrived_ms; /* monotonic */
	/* by the service's clock if that is known to differ from ours, else by ours */
	int64_t arrived_wall_ms;
};

enum verdict_kind {
	VERDICT_UNKNOWN,  /* unusable: `why` */
	VERDICT_NEGATIVE, /* a well-formed no */
	VERDICT_POSITIVE, /* a well-formed notice */
	VERDICT_ABSENT,   /* a well-formed "not available here": `why` has the fix */
};

#define VERDICT_NOTICES 8

struct verdict {
	enum verdict_kind kind;
	/* if POSITIVE; of a list all that were understood. A notice file that withdraws its notice
	 * is NEGATIVE with one of kind CANCELLED, which does not count. */
	struct notice notices[VERDICT_NOTICES + 1];
	size_t count;
	size_t others; /* Azure: events for other VMs */
	/* the reason; with a notice file or a list, what of it is not understood */
	char why[200];
};

void verdict_set(struct verdict *verdict, enum verdict_kind kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Sets UNKNOWN with a text for an unexpected reply. */
void verdict_unexpected(struct verdict *verdict, const struct reply *reply);
/* Sets POSITIVE, and adds a notice; the reason is formatted. One too many replaces the last one.
 * Returns the notice. */
struct notice *verdict_notice(struct verdict *verdict, enum notice_kind kind, const char *source,
			      const char *identity, int64_t deadline_ms, int64_t seen_ms,
			      const char *format, ...) __attribute__((format(printf, 7, 8)));

/* A 404 that is no other cloud's: those reply with JSON or with a header of their own. */
bool reply_is_absent(const struct reply *reply);
/* The JSON of a 200 that begins with `first`. The caller owns it. NULL: the verdict is set. */
json_t *reply_json(const struct reply *reply, char first, struct verdict *verdict);
/* The time left until `when` on the wall clock, from 0 to `most_ms`. False: it passed more than
 * STALE_MS ago, and the verdict is NEGATIVE. */
bool reply_left_ms(const struct reply *reply, int64_t when, int64_t most_ms, int64_t *left_ms,
		   struct verdict *verdict);
enum {
	/* A notice whose time passed longer ago than this is left over from an earlier start: it
	 * must not end every new one. */
	STALE_MS = 60 * 1000,
};

/* Copies the body without surrounding white space. False: it is longer than the buffer, or has a
 * NUL byte. */
bool reply_text(const struct reply *reply, char *buffer, size_t capacity);
/* The first character that is not white space, or 0. */
char reply_first_char(const struct reply *reply);

/* The wall clock to use: ours if the service's Date agrees within its precision, else the
 * service's. `date` may be NULL. */
int64_t reply_wall_clock(const char *date, int64_t our_wall_ms);

/* --- aws.c --- */

enum {
	/* For an invalid `time`: the notice is about 120 s long, and some of it has passed. */
	AWS_NOTICE_GUESSED_MS = 100 * 1000,
	AWS_NOTICE_MOST_MS = 10 * 60 * 1000,
	/* An Auto Scaling group that removes an instance gives no time. Without a lifecycle hook 39
	 * s were seen (node-termination-handler issue 1022); with one there is more. */
	AWS_STATE_GUESSED_MS = 30 * 1000,
	/* Maintenance is announced days ahead; it is reported once more this long before. */
	AWS_MAINTENANCE_NEAR_MS = 5 * 60 * 1000,
};

/* The result of one request at the start. */
struct aws_attempt {
	bool timed_out;
	int status;   /* 0: no reply */
	bool shaped;  /* the body is valid: a token or an instance id */
	bool foreign; /* the reply has another cloud's header */
};

enum aws_access {
	AWS_UNDECIDED,  /* try again soon */
	AWS_WITH_TOKEN, /* IMDSv2 */
	AWS_TOKENLESS,  /* IMDSv1 */
	AWS_HOP_LIMIT,  /* a token is required, and the reply with it does not reach us */
	AWS_DISABLED,
	AWS_ABSENT,  /* no reply */
	AWS_REFUSED, /* connections are refused or reset: try again soon */
	AWS_FOREIGN, /* something replies, but it is not EC2 */
};

/* Decides from the PUT for a token and the GET of instance-id without one. `get` is ignored if the
 * PUT returned a token. */
enum aws_access aws_access_decide(const struct aws_attempt *put, const struct aws_attempt *get,
				  bool tokenless_allowed);
/* For all but the first three: the reason and the fix, for the user. Static. */
const char *aws_access_why(enum aws_access access);

bool aws_instance_reply(const struct reply *reply);

/* spot/instance-action: STOP. hibernate is ADVICE, because the job is frozen and continues
 * later. */
void aws_action_reply(const struct reply *reply, struct verdict *verdict);
/* events/recommendations/rebalance: ADVICE. */
void aws_rebalance_reply(const struct reply *reply, struct verdict *verdict);

/* autoscaling/target-lifecycle-state: STOP for the states in which the machine ends. */
void aws_state_reply(const struct reply *reply, struct verdict *verdict);

/* events/maintenance/scheduled: ADVICE. From AWS_MAINTENANCE_NEAR_MS before an event that ends the
 * instance its identity ends with AWS_NEAR, which is news once more. */
#define AWS_NEAR " near"
void aws_maintenance_reply(const struct reply *reply, struct verdict *verdict);

/* --- azure.c --- */

enum {
	AZURE_NAME_MOST = 128,
	/* NotBefore is empty once the event has started: what is left then is the time of the
	 * guest's shutdown. */
	AZURE_STARTED_MS = 5 * 1000,
	/* Degraded hardware is announced days ahead: an event this far off is advice, and becomes a
	 * stop later. */
	AZURE_FAR_MS = 30 * 60 * 1000,
};

/* compute/name as text. False: it cannot be the name of a VM. */
bool azure_name_reply(const struct reply *reply, char name[AZURE_NAME_MOST]);
/* Implements cloud_watch_approve(). */
struct environment;
int azure_approve(const struct environment *environment, const char *identity,
		  struct cancel *cancel, struct err *err);
/* scheduledevents, for the VM `name`. With "", any event makes it UNKNOWN. */
void azure_events_reply(const struct reply *reply, const char *name, struct verdict *verdict);

/* --- gcp.c --- */

/* By default TRUE and the ACPI soft-off come together, and the hard power-off 30 s later. */
enum {
	GCP_NOTICE_MS = 30 * 1000,
	/* preemptionNoticeDuration is 0 or 120 s; longer values than this are not believed. */
	GCP_NOTICE_MOST_MS = 10 * 60 * 1000,
	/* A VM with a GPU is stopped an hour after TERMINATE_ON_HOST_MAINTENANCE appears. */
	GCP_MAINTENANCE_MS = 60 * 60 * 1000,
	GCP_MAINTENANCE_NEAR_MS = 5 * 60 * 1000,
};

/* The facts beside the reply that a verdict depends on. */
struct gcp_context {
	/* time from TRUE to the end on this VM */
	int64_t notice_ms;
	/* monotonic: when this subscription first saw its positive value; CLOCK_NEVER: not yet, or
	 * it was there at the start */
	int64_t since_ms;
};
/* Parses "120s"; false: not a duration up to GCP_NOTICE_MOST_MS. */
bool gcp_notice_parse(const char *text, int64_t *milliseconds);

/* instance/preempted: STOP. */
void gcp_preempted_reply(const struct reply *reply, const struct gcp_context *context,
			 struct verdict *verdict);
/* instance/maintenance-event: ADVICE, and STOP when the hour before a termination is nearly over;
 * NONE is NEGATIVE. */
void gcp_maintenance_reply(const struct reply *reply, const struct gcp_context *context,
			   struct verdict *verdict);
/* instance/upcoming-maintenance?alt=json, in the forms that were seen: ADVICE with the times of the
 * window. */
void gcp_upcoming_reply(const struct reply *reply, const struct gcp_context *context,
			struct verdict *verdict);
/* Returns true if the ETag may be sent in a query: 1 to 64 letters and digits. */
bool gcp_etag_is_usable(const char *etag);

/* --- file_source.c --- */

struct file_content {
	const char *path; /* the notice's identity */
	const char *text;
	size_t size;
	int64_t appeared_wall_ms; /* ctime: when the file got its content or its name */
	int64_t seen_ms, seen_wall_ms;
	/* unchanged for a while: what is unreadable will not become readable */
	bool settled;
};

/*
 * Empty, or text for people: STOP 30 s after it appeared. A time alone is the deadline. JSON:
 * {"reason": TEXT, "deadline": TIME | "in_seconds": N, "kind": "stop" | "advice" | "cancelled" |
 * "none"}, each optional. Broken JSON is UNKNOWN until it is settled, because it may still be being
 * written; then the file counts as an empty one.
 *
 * "cancelled" and "none" withdraw the notice of this source. Any other kind is STOP, and the
 * reason names it.
 *
 * For all but UNKNOWN, `why` says what of the JSON is not understood, as in: but "seconds" is not
 * known (write "in_seconds"); "": nothing. What `reprieve watch --json` prints is known.
 */
void file_reply(const struct file_content *content, struct verdict *verdict);

/* --- termination.c --- */

/* Alibaba announces 5 minutes ahead, Tencent 2. */
#define TERMINATION_MOST_MS (10 * 60 * 1000)

struct termination_form {
	const char *source;    /* "alibaba" */
	const char *id_prefix; /* prefix of instance ids: "i-" */
	int64_t zone_ms;       /* how far a time without a zone is ahead of UTC */
};
extern const struct termination_form termination_alibaba, termination_tencent;

/* Returns true if the reply is an instance-id in the form of this cloud. */
bool termination_instance_reply(const struct termination_form *form, const struct reply *reply);
/* 200 with a time: STOP at that time. 404 or an empty 200: NEGATIVE. */
void termination_reply(const struct termination_form *form, const struct reply *reply,
		       struct verdict *verdict);

/* --- reply.c: requests, which block --- */

/* Opens `client` and sends one GET: a probe. False: no reply. The caller closes the client. */
bool metadata_request_once(struct instance_metadata *client, enum metadata_service service,
			   const char *endpoint, const char *path, int64_t timeout_ms,
			   struct reply *reply, struct cancel *cancel);

/* The last reply, borrowed from the client until its next request. */
void metadata_request_reply(const struct instance_metadata *client, struct reply *reply);

/* --- source_table.c: which cloud is this? --- */

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

/* --- cloud_watch.c: health --- */

enum {
	HEALTH_START_PATIENCE_MS = 3000, /* for a source that never worked */
	/* for one that did: a 503 or a renewed token is no news */
	HEALTH_ARMED_PATIENCE_MS = 30000,
};

struct health {
	enum source_health state;
	int64_t started_ms;
	int64_t unknown_since_ms; /* CLOCK_NEVER: the last reply was usable */
};
#define HEALTH_START(now_ms) \
	((struct health){.started_ms = (now_ms), .unknown_since_ms = CLOCK_NEVER})

/* Takes the result of a poll that has ended, ARMED for a usable reply. Returns whether the state
 * has changed and is to be reported. */
bool health_note(struct health *health, enum source_health outcome, int64_t now_ms);

struct watcher;

/* --- for providers --- */

int64_t watcher_deadline_notice_ms(struct watcher *watcher);
void watcher_set_endpoint(struct watcher *watcher, const char *endpoint);

/* Counts a poll, and reports a change of health; STARTING is no poll: its first reply will take a
 * while. `why` of ARMED, a usable reply, is "". */
void watcher_report(struct watcher *watcher, enum source_health outcome, const char *why);
/* Reports what an armed source lacks: once, and again when it is something else. "": nothing, which
 * is no news. */
void watcher_set_note(struct watcher *watcher, const char *text);

/*
 * Reports a notice. May be called with the same one at each poll: only news is passed on (a new
 * identity or kind, a deadline more than a second earlier). CANCELLED needs only source and
 * identity, and is passed on if that notice was.
 */
void watcher_notice(struct watcher *watcher, const struct notice *notice);

/* Opens a client of the metadata service where the environment has it, and names it as the source's
 * endpoint. False: the source is unavailable, which is reported. The caller closes the client. */
bool watcher_open(struct watcher *watcher, enum metadata_service service, int64_t timeout_ms,
		  struct instance_metadata *client);
/* instance_metadata_get() until the watch stops; `reply` borrows from the client. False: no reply,
 * and the verdict is UNKNOWN. */
bool watcher_get(struct watcher *watcher, struct instance_metadata *client, const char *path,
		 struct reply *reply, struct verdict *verdict);

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

/* One source. */
struct watcher {
	struct watcher_shared *shared;
	const struct provider *provider; /* NULL: a probe finds it */
	char *argument; /* the text after the colon: the path of a file source; "": none */
	pthread_t thread;
	/* guarded by shared->mutex */
	struct health health;
	struct source_state state;
	struct notices announced;
};

/* --- cloud_watch.c: what is announced --- */

/* The notices of one resource. Zero-initialise. */
#define ANNOUNCED_MOST 16
struct announced {
	struct notice items[ANNOUNCED_MOST];
	size_t count;
	/* number of well-formed replies in a row that lacked one of them */
	unsigned absent;
};

/* Reports the notices of a verdict, and remembers them. If `complete`, they are all that there are:
 * those that are missing are withdrawn, but only by the second such call in a row, because one
 * reply may come from a server that does not know of an event yet. */
void announced_take(struct announced *announced, struct watcher *watcher,
		    const struct verdict *verdict, bool complete, const char *reason);
/* Reports that this notice is over, and empties it; one of kind NONE was not reported. */
void announced_withdraw(struct watcher *watcher, struct notice *notice, const char *reason);

/* --- deadline_source.c: PURE, but for the local time zone --- */

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

/* How long before a time limit the notice is given, in ms: `wanted_ms`, but a short job keeps three
 * quarters of its time. */
int64_t deadline_fit_notice_ms(int64_t left_ms, int64_t wanted_ms);

/* --- provider --- */

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
};

extern const struct provider provider_aws, provider_gcp, provider_azure, provider_alibaba,
	provider_tencent, provider_slurm, provider_deadline, provider_file;

/* --- source_table.c: the table --- */

/* Zero-initialise. Of the watchers, provider and argument are set. */
struct source_table {
	struct watcher items[CLOUD_SOURCES_MOST];
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

/* The first provider whose metadata service replies at `endpoint`, or NULL. Blocks for at most a
 * second. */
const struct provider *source_table_probe(const char *endpoint, struct cancel *cancel);

#endif
