/*
 * PUBLIC. Will this machine be taken away, and when?
 *
 * Map of this folder:
 *
 *	cloud_watch.c        starts one thread per source, so that a source that hangs delays no
 *	                     other; posts notices and health
 *	notice.c       PURE: merging by identity, earliest deadline, cancellation
 *	health.c       PURE: when does a source without usable answers become news?
 *	provider.h     PRIVATE: what a source is: name, probe, run. One file and one row each
 *	detect.c       which cloud is this? environment, DMI, then a probe
 *	source_list.c  PURE: "aws,file:/run/x" -> names and arguments
 *	source_table.c  the table of all sources, and what a list and the surroundings choose from
 *	                it
 *	aws.c gcp.c azure.c termination.c (Alibaba, Tencent) file_source.c command_source.c
 *	deadline_source.c (a known end, Slurm's)
 *	               I/O of each source
 *	aws_session.c  the token, and a GET with it
 *	azure_share.c  one answer for all supervisors of a user on a machine
 *	aws_reply.c aws_events.c gcp_reply.c azure_reply.c termination_reply.c file_reply.c
 *	command_result.c deadline_time.c
 *	               PURE: (status, headers, body) -> positive, negative or unknown
 *	reply.c dates.c   PURE: what these share
 *	metadata_request.c        one request to a metadata service
 *	mock/          pretends to be them, for drills and tests (mock.h is PUBLIC too)
 *
 * The rule for every source: only a well-formed positive is a notice; only a well-formed negative
 * is none; everything else (time-out, 401, 403, 429, 5xx, HTML, unknown JSON) is UNKNOWN: counted,
 * said, and never acted on. A watcher's fault never ends or delays the job.
 */
#ifndef CLOUD_H
#define CLOUD_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum notice_kind {
	NOTICE_NONE,
	/* rebalance, maintenance ahead: take an early cheap checkpoint, never exit */
	NOTICE_ADVICE,
	/* the machine will be gone at the deadline */
	NOTICE_STOP,
	/* a notice with this identity is withdrawn: save and go on */
	NOTICE_CANCELLED,
};

struct notice {
	enum notice_kind kind;
	/* monotonic; CLOCK_NEVER where none is known (advice) */
	int64_t deadline_ms;
	/* monotonic: when the answer that carries it arrived */
	int64_t seen_ms;
	/* "aws", "gcp", "azure", "alibaba", "tencent", "slurm", "deadline",
	 * "file", "command", "sigterm" */
	char source[16];
	/* what makes it the same notice again: event id, or action; never the raw bytes */
	char identity[80];
	/* for people: "spot terminate at 10:02:00Z" */
	char reason[160];
	/* the source tells no time: the deadline is what such a notice usually leaves */
	bool guessed;
	/* cloud_watch_approve() may let the cloud take this machine, and no other, at once */
	bool approvable;
};

/* The notices seen so far, merged. Zero-initialise. */
#define NOTICES_MOST 16
struct notices {
	struct notice items[NOTICES_MOST];
	size_t count;
};

/* What adding one means for the whole. */
enum notice_change {
	NOTICE_NOTHING_NEW, /* seen already, or later than what is known */
	NOTICE_NEW_ADVICE,
	NOTICE_FIRST_STOP,
	NOTICE_EARLIER_DEADLINE, /* a stop was known; now it comes sooner */
	NOTICE_LATER_DEADLINE,   /* the earliest stop was withdrawn, and another one stands */
	NOTICE_ALL_CANCELLED,    /* the last stop was withdrawn */
	NOTICE_WITHDRAWN,        /* advice, or a stop that did not count: nothing else changes */
};

/*
 * PURE. Same source and identity: one notice, whose deadline only ever moves earlier (a second
 * SIGTERM gains no time), and whose stop does not soften into advice; only its cancellation takes
 * it away. The effective stop is the one with the earliest deadline.
 */
enum notice_change notices_add(struct notices *notices, const struct notice *notice);
/* PURE. Is it worth telling, where `told` were: a new identity or kind, a deadline more than a
 * second earlier, the end of one that was told? The bytes that it came in do not matter. */
#define NOTICE_EARLIER_MS 1000
bool notices_is_news(const struct notices *announced, const struct notice *notice);
/* The effective stop, or NULL. Borrowed until the next add. */
const struct notice *notices_stop(const struct notices *notices);

enum source_health {
	SOURCE_STARTING,
	SOURCE_ARMED,       /* the last answer was a well-formed positive or negative */
	SOURCE_UNKNOWN,     /* it answers, but not so that one can tell; or it stopped answering */
	SOURCE_UNAVAILABLE, /* it cannot work here, and `why` says the reason and the fix */
};
const char *source_health_name(enum source_health health);

struct source_state {
	char name[16];
	enum source_health health;
	char why[200]; /* for all but ARMED; there, what is amiss all the same */
	char endpoint[160];
	uint64_t polls;
	uint64_t unknowns;
};

struct cloud_options {
	/*
	 * "auto" (also for NULL), "none", or a comma-separated list of auto, aws, gcp, azure,
	 * alibaba, tencent, slurm, file:PATH, command:COMMAND (to the end of the list),
	 * deadline:TIME, and gcp:DURATION for a VM with a preemption notice of its own. ERR_INVALID
	 * names the one that is not known. On a machine that is no cloud's, auto watches nothing
	 * and has no state to show; where the firmware does not tell, it is one source named "auto"
	 * until a probe has answered, and then the cloud's. In a Slurm job with a known end, auto
	 * watches that as well.
	 * The file may be empty, hold words for people, or JSON: {"reason": TEXT, "deadline": RFC
	 * 3339 | "in_seconds": N, "kind": "stop" | "advice" | "cancelled" | "none"}; without a time
	 * it is 30 s from its appearing, and removing it withdraws the notice, as the last two
	 * kinds do. A command says the same on its stdout and exits with 0; 1 is no notice, and
	 * anything else says nothing.
	 */
	const char *sources;
	/* When the machine will be gone, however one knows: "2h" from now, a date, or seconds since
	 * 1970; NULL: not known. ERR_INVALID for anything else. */
	const char *deadline;
	/* How long before a known end (deadline, slurm) the notice is given; 0: 120 s. */
	int64_t deadline_notice_ms;
	/* A directory of this user's where the supervisors on one machine share what they may not
	 * ask often; NULL: each asks. */
	const char *shared_directory;
	/* Called on a watcher's thread; they must not block. Health is told once per change, and
	 * once at the start for each source. */
	void (*notice)(void *arg, const struct notice *notice);
	void (*health)(void *arg, const struct source_state *state);
	void *arg;
};

struct cloud_watch;

#define CLOUD_SOURCES_MOST 12

/*
 * Returns at once; detection and polling happen on threads. Endpoints come from the standard
 * environment names (AWS_EC2_METADATA_SERVICE_ENDPOINT, AWS_EC2_METADATA_DISABLED,
 * GCE_METADATA_HOST) and REPRIEVE_<AZURE|ALIBABA|TENCENT>_METADATA_ENDPOINT.
 */
int cloud_watch_start(const struct cloud_options *options, struct cloud_watch **watch,
		      struct err *err);
/* Ends the threads within milliseconds; one that hangs in the kernel is left behind after a second,
 * and tells nothing any more. NULL is fine. */
void cloud_watch_stop(struct cloud_watch *watch);
/*
 * Tells the cloud that nobody on this machine waits for the end any more, which may then come at
 * once: Azure's StartRequests. Only for a notice that is approvable, and only after everything is
 * durable. Blocks until the answer or `until_ms`. ERR_INVALID for a notice that cannot be approved.
 */
int cloud_watch_approve(struct cloud_watch *watch, const struct notice *notice, int64_t until_ms,
			struct err *err);
/* Copies at most `most` states; returns how many there are. Any thread. */
size_t cloud_watch_states(struct cloud_watch *watch, struct source_state *states, size_t most);

#endif
