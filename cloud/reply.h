/* PRIVATE. PURE. The reply of a metadata service, and the verdict on it. The *_reply.c files turn
 * one into the other. */
#ifndef REPLY_H
#define REPLY_H

#include "base/instance_metadata.h"
#include "cloud.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

struct verdict {
	enum verdict_kind kind;
	struct notice notice; /* valid if POSITIVE */
	char why[200];        /* the reason; with a notice file, what of it is not understood */
};

void verdict_set(struct verdict *verdict, enum verdict_kind kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Sets UNKNOWN with a text for an unexpected reply. */
void verdict_unexpected(struct verdict *verdict, const struct reply *reply);
/* Sets POSITIVE with this source and identity; the reason is formatted. */
void verdict_notice(struct verdict *verdict, enum notice_kind kind, const char *source,
		    const char *identity, int64_t deadline_ms, int64_t seen_ms, const char *format,
		    ...) __attribute__((format(printf, 7, 8)));

/* Copies the body without surrounding white space. False: it is longer than the buffer, or has a
 * NUL byte. */
bool reply_text(const struct reply *reply, char *buffer, size_t capacity);
/* The first character that is not white space, or 0. */
char reply_first_char(const struct reply *reply);

/* The wall clock to use: ours if the service's Date agrees within its precision, else the
 * service's. `date` may be NULL. */
int64_t reply_wall_clock(const char *date, int64_t our_wall_ms);

/* --- aws_reply.c --- */

/* PRIVATE. PURE. Judges the replies of the EC2 metadata service. */

enum {
	/* For an invalid `time`: the notice is about 120 s long, and some of it has passed. */
	AWS_NOTICE_GUESSED_MS = 100 * 1000,
	AWS_NOTICE_MOST_MS = 10 * 60 * 1000,
	/* If EC2 fails to terminate, the time stays in the past: it must not end every new
	 * start. */
	AWS_STALE_MS = 60 * 1000,
	/* An Auto Scaling group that removes an instance gives no time. Without a lifecycle hook 39
	 * s were seen (node-termination-handler issue 1022); with one there is more. */
	AWS_STATE_GUESSED_MS = 30 * 1000,
	/* Maintenance is announced days ahead; it is reported once more this long before. */
	AWS_MAINTENANCE_NEAR_MS = 5 * 60 * 1000,
	AWS_EVENTS_MOST = 8,
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

struct aws_events {
	enum verdict_kind kind; /* NEGATIVE: well-formed, and nothing is planned */
	struct notice notices[AWS_EVENTS_MOST];
	size_t count;
	char why[200];
};
/* events/maintenance/scheduled: ADVICE, and STOP from AWS_MAINTENANCE_NEAR_MS before an event that
 * ends the instance. */
void aws_maintenance_reply(const struct reply *reply, struct aws_events *events);
/* Leaves out what need not be told: an event that was near when it was first seen, and so is told
 * as near, is not told a second time as one to come. `told`: the notices so far. */
void aws_events_leave_out_far(struct aws_events *events, const struct notice *told, size_t count);

/* --- azure_reply.c --- */

/* PRIVATE. PURE. Judges the replies of Azure's instance metadata service. */

enum {
	AZURE_NAME_MOST = 128,
	AZURE_EVENTS_MOST = 8,
	/* NotBefore is empty once the event has started: what is left then is the time of the
	 * guest's shutdown. */
	AZURE_STARTED_MS = 5 * 1000,
	/* Degraded hardware is announced days ahead: an event this far off is advice, and becomes a
	 * stop later. */
	AZURE_FAR_MS = 30 * 60 * 1000,
};

struct azure_events {
	enum verdict_kind kind; /* NEGATIVE: well-formed, and nothing concerns this VM */
	struct notice notices[AZURE_EVENTS_MOST];
	size_t count;
	size_t others; /* events for other VMs */
	char why[200];
};

/* compute/name as text. False: it cannot be the name of a VM. */
bool azure_name_reply(const struct reply *reply, char name[AZURE_NAME_MOST]);
/* scheduledevents, for the VM `name`. With "", any event makes it UNKNOWN. */
void azure_events_reply(const struct reply *reply, const char *name, struct azure_events *events);

/* --- gcp_reply.c --- */

/* PRIVATE. PURE. Judges the replies of the Compute Engine metadata server. */

/* By default TRUE and the ACPI soft-off come together, and the hard power-off 30 s later. */
enum {
	GCP_NOTICE_MS = 30 * 1000,
	/* preemptionNoticeDuration is 0 or 120 s; longer values than this are not believed. */
	GCP_NOTICE_MOST_MS = 10 * 60 * 1000,
	/* A VM with a GPU is stopped an hour after TERMINATE_ON_HOST_MAINTENANCE appears. */
	GCP_MAINTENANCE_MS = 60 * 60 * 1000,
	GCP_MAINTENANCE_NEAR_MS = 5 * 60 * 1000,
};

/* What else a verdict depends on. */
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
/* Whether an ETag may be sent in a query: 1 to 64 letters and digits. */
bool gcp_etag_is_usable(const char *etag);

/* --- file_reply.c --- */

/* PRIVATE. PURE. Parses a notice file. */

enum {
	FILE_NOTICE_MS = 30 * 1000, /* for a file without a time */
	/* Ignore a notice file whose deadline passed longer ago than this: it is stale, and would
	 * stop every new start. */
	FILE_STALE_MS = 60 * 1000,
};

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
 * "cancelled" and "none": NEGATIVE with notice.kind
 * CANCELLED, which withdraws the notice of this source. Any other kind is STOP, and the reason
 * names it.
 *
 * For all but UNKNOWN, `why` says what of the JSON is not understood, as in: but "seconds" is not
 * known (write "in_seconds"); "": nothing. What `reprieve watch --json` prints is known.
 */
void file_reply(const struct file_content *content, struct verdict *verdict);

/* --- termination_reply.c --- */

/* PRIVATE. PURE. Judges the replies of Alibaba's and Tencent's metadata services under
 * spot/termination-time. */

enum {
	/* Alibaba announces 5 minutes ahead, Tencent 2. */
	TERMINATION_MOST_MS = 10 * 60 * 1000,
	TERMINATION_STALE_MS = 60 * 1000,
};

struct termination_form {
	const char *source;    /* "alibaba" */
	const char *id_prefix; /* prefix of instance ids: "i-" */
	int64_t zone_ms;       /* how far a time without a zone is ahead of UTC */
};
extern const struct termination_form termination_alibaba, termination_tencent;

/* Whether instance-id is one of this cloud's. */
bool termination_instance_reply(const struct termination_form *form, const struct reply *reply);
/* 200 with a time: STOP at that time. 404 or an empty 200: NEGATIVE. */
void termination_reply(const struct termination_form *form, const struct reply *reply,
		       struct verdict *verdict);

/* --- metadata_request.c --- */

/* PRIVATE. Sends a request to a metadata service and converts the reply. Blocks. */

/* Opens `client` and sends one GET: a probe. False: no reply. The caller closes the client. */
bool metadata_request_once(struct instance_metadata *client, enum metadata_service service,
			   const char *endpoint, const char *path, int64_t timeout_ms,
			   struct reply *reply, struct cancel *cancel);

/* The last reply, borrowed from the client until its next request. */
void metadata_request_reply(const struct instance_metadata *client, struct reply *reply);

#endif
