/*
 * PUBLIC. Will this machine be taken away, and when? Watches the sources that may know: metadata
 * services, a scheduler, a file, a known end. Read notice.c for what a notice means,
 * then watcher.h and gcp.c for one source.
 *
 * For other folders, this header alone (and mock/mock.h, for drills and tests).
 *
 * Of this folder only:
 *
 *	watcher.h		what a source is: name, probe, run; what its thread gets, and how it
 *				judges and reports
 *	cloud_watch.c		starts one thread per source, so that one that hangs delays no
 *other; withdraws notices whose events have disappeared; PURE: when a source without usable replies
 *becomes news source_table.c		the table of sources; which of them are watched; PURE:
 *parses "aws,file:/run/x"; which cloud is this? environment and firmware
 *	notice.c		PURE: merges notices by identity; earliest deadline; cancellation
 *	aws.c  gcp.c  azure.c  termination.c (Alibaba, Tencent)  file_source.c
 *	deadline_source.c (a known end, a Slurm time limit)	each source: PURE: reply -> notice,
 *				none, or unknown; and its I/O
 *	reply.c			shared by these: requests and replies
 *	mock/			imitates the metadata services
 *
 * The rule for every source: only a well-formed positive reply is a notice, and only a well-formed
 * negative one means that there is none. Everything else (time-out, 401, 403, 429, 5xx, HTML,
 * unknown JSON) is UNKNOWN: it is counted and shown, and nothing is done because of it. A fault of
 * a source never ends or delays the job.
 */
#ifndef CLOUD_H
#define CLOUD_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum notice_kind {
	NOTICE_NONE,
	/* rebalance recommendation, planned maintenance: save an early, cheap checkpoint; never
	 * exit */
	NOTICE_ADVICE,
	/* the machine will be gone at the deadline */
	NOTICE_STOP,
	/* the notice with this identity is withdrawn: save and continue */
	NOTICE_CANCELLED,
};

struct notice {
	enum notice_kind kind;
	/* monotonic; CLOCK_NEVER: none is known (advice) */
	int64_t deadline_ms;
	/* monotonic: when the reply with the notice arrived */
	int64_t seen_ms;
	/* "aws", "gcp", "azure", "alibaba", "tencent", "slurm", "deadline",
	 * "file", "sigterm", "gang" */
	char source[16];
	/* what makes a repeated notice the same: event id or action, never the raw bytes */
	char identity[80];
	/* for people: "spot terminate at 10:02:00Z" */
	char reason[160];
	/* the source gives no time: the deadline is the usual length of such a notice */
	bool guessed;
	/* cloud_watch_approve() may let the cloud end this machine, and no other, at once */
	bool approvable;
};

/* Who announced it, as far as that makes a difference. */
enum notice_origin {
	NOTICE_BY_OTHERS,
	NOTICE_BY_SIGTERM,
	NOTICE_BY_SLURM_SIGNAL, /* --signal: it asks for a requeue */
	NOTICE_AT_SLURM_LIMIT,  /* the end of the job's time */
};

enum notice_origin notice_origin(const struct notice *notice);

/* The notices so far, merged. Zero-initialise. */
#define NOTICES_MOST 16
struct notices {
	struct notice items[NOTICES_MOST];
	size_t count;
};

/* What adding a notice has changed. */
enum notice_change {
	NOTICE_NOTHING_NEW, /* known already, or later than what is known */
	NOTICE_NEW_ADVICE,
	NOTICE_FIRST_STOP,
	NOTICE_EARLIER_DEADLINE, /* a stop was known; its deadline is earlier now */
	NOTICE_LATER_DEADLINE,   /* the earliest stop was withdrawn; another one remains */
	NOTICE_ALL_CANCELLED,    /* the last stop was withdrawn */
	NOTICE_WITHDRAWN,        /* advice, or a stop with a later deadline, was withdrawn */
};

/*
 * PURE. Merges a notice. Notices with the same source and identity are one notice: its deadline
 * only moves earlier (a second SIGTERM gains no time), and a stop never becomes advice; only a
 * cancellation removes it. The effective stop is the one with the earliest deadline.
 */
enum notice_change notices_add(struct notices *notices, const struct notice *notice);
/* PURE. Whether a notice is news after those in `announced`: a new identity or kind, a deadline at
 * least NOTICE_EARLIER_MS earlier, or the end of an announced one. */
#define NOTICE_EARLIER_MS 1000
bool notices_is_news(const struct notices *announced, const struct notice *notice);
/* The effective stop, or NULL. Borrowed until the next add. */
const struct notice *notices_stop(const struct notices *notices);
/* PURE. There are stops, and each of them is NOTICE_AT_SLURM_LIMIT; what another member of a gang
 * has heard of first ("gang") counts with the one that is heard of here. */
bool notices_are_slurm_limit(const struct notices *notices);

enum source_health {
	SOURCE_STARTING,
	SOURCE_ARMED,       /* the last reply was well-formed, positive or negative */
	SOURCE_UNKNOWN,     /* its replies are unusable, or it stopped replying */
	SOURCE_UNAVAILABLE, /* it cannot work here; `why` has the reason and the fix */
};
const char *source_health_name(enum source_health health);

struct source_state {
	char name[16];
	enum source_health health;
	char why[200]; /* the reason; for ARMED, what is missing all the same */
	char endpoint[160];
	/* a cloud that nobody has named is looked for, and another source is watched: that there is
	 * none is no news */
	bool optional;
	uint64_t polls;
	uint64_t unknowns;
};

struct cloud_options {
	/*
	 * What to watch: "auto" (also for NULL), "none", or a comma-separated list of auto, aws,
	 * gcp, azure, alibaba, tencent, slurm, file:PATH, deadline:TIME, and gcp:DURATION for a VM
	 * with a preemption notice of its own. ERR_INVALID names an unknown one.
	 *
	 * auto watches nothing on a machine that belongs to no cloud. If the firmware does not
	 * tell, it is one source named "auto" until a probe has a reply, and then the source of
	 * that cloud. In a Slurm job with a known end, auto watches that as well.
	 *
	 * The file may be empty, or have text for people, or JSON: {"reason": TEXT, "deadline": RFC
	 * 3339 | "in_seconds": N, "kind": "stop" | "advice" | "cancelled" | "none"}. Without a time
	 * the deadline is 30 s after the file appeared. Removing the file withdraws the notice, as
	 * do the last two kinds.
	 */
	const char *sources;
	/* When the machine will be gone, if the user knows: "2h" from now, a date, or seconds since
	 * 1970; NULL: unknown. ERR_INVALID for anything else. */
	const char *deadline;
	/* How long before a known end (deadline, slurm) the notice is given, in ms; 0: 120 s. */
	int64_t deadline_notice_ms;
	/* Called on a source's thread; must not block. `health` is called once at the start for
	 * each source, and once per change. */
	void (*notice)(void *arg, const struct notice *notice);
	void (*health)(void *arg, const struct source_state *state);
	void *arg;
};

struct cloud_watch;

#define CLOUD_SOURCES_MOST 12

/*
 * Starts watching and returns at once; detection and polling happen on threads. The endpoints can
 * be set by the usual environment variables (AWS_EC2_METADATA_SERVICE_ENDPOINT,
 * AWS_EC2_METADATA_DISABLED, GCE_METADATA_HOST) and by
 * REPRIEVE_<AZURE|ALIBABA|TENCENT>_METADATA_ENDPOINT.
 */
int cloud_watch_start(const struct cloud_options *options, struct cloud_watch **watch,
		      struct err *err);
/* Ends the threads within milliseconds. A thread that hangs in the kernel is abandoned after a
 * second, and makes no more calls. NULL is fine. */
void cloud_watch_stop(struct cloud_watch *watch);
/*
 * Tells the cloud that it may end this machine now (Azure: StartRequests). Only for an approvable
 * notice, and only when everything is durable. Blocks until the reply or until `until_ms`
 * (monotonic). ERR_INVALID: the notice cannot be approved.
 */
int cloud_watch_approve(struct cloud_watch *watch, const struct notice *notice, int64_t until_ms,
			struct err *err);
/* Copies at most `most` states; returns how many there are. Any thread may call it. */
size_t cloud_watch_states(struct cloud_watch *watch, struct source_state *states, size_t most);

#endif
