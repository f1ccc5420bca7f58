/*
 * PURE. Who asked for a checkpoint, and what each of them is told. No I/O and no clock: events in,
 * effects out; job_requests.c posts the events and performs the effects.
 *
 * A request is made by a client, a notice, an interval or advice. It is answered by what the job
 * saved after it was made, and by nothing else:
 *
 *	PENDING  a save was under way already: the job is asked once more when that has ended
 *	ASKED    the job is being asked, or was asked; the next complete checkpoint answers it
 *	SAVED    that checkpoint is complete; the request ends when it is durable, or is lost
 *
 * Requests that coincide share one save, each with an answer of its own. Only one asking is under
 * way at a time: a second signal would interrupt the job's handler.
 *
 * Of a gang, each request is an event in its log, and so is the first notice: what answers the
 * request here answers the event (request_table_saw()). Times say nothing of it, because an event
 * is read later than it happened. As on one machine, a checkpoint that was under way will do at a
 * notice, and for nothing else.
 */
#ifndef REQUEST_TABLE_H
#define REQUEST_TABLE_H

#include "base/cleanup.h"
#include "save_reason.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum request_phase {
	REQUEST_PENDING,
	REQUEST_ASKED,
	REQUEST_SAVED
};

struct request {
	uint64_t id;
	enum save_reason cause;
	enum request_phase phase;
	uint64_t generation; /* SAVED: the checkpoint that answers it */
	uint32_t event;      /* of a gang's log: what it is there; 0: not known yet, or a notice */
};

struct request_waiter {
	void *client;
	uint64_t request;
	bool until_asked; /* it waits for the asking only, not for the checkpoint */
};

enum asking {
	ASKING_NONE,
	ASKING_BEGUN, /* a process to ask is being looked for */
	ASKING_SENT,  /* the job was asked: the next checkpoint that began since is the answer */
};

struct request_table {
	enum asking asking;
	struct request *items;
	size_t count;
	struct request_waiter *waiters;
	size_t waiter_count;
	uint64_t last_id;
	uint64_t made; /* by the newest MADE; 0: one that was there serves it */
	/* of a gang: the first notice in its log (0: none), whether a checkpoint has answered a
	 * notice, and the newest request that one has answered */
	uint32_t notice;
	bool notice_saved;
	uint32_t saw;
};

enum request_event_kind {
	REQUEST_EV_MADE,    /* `cause`, `client`, `until_asked`, `saving`, `event` */
	REQUEST_EV_TOLD,    /* the request `id` is `event` in the gang's log; 0: its first notice */
	REQUEST_EV_SENDING, /* the job is asked now */
	REQUEST_EV_SENT,    /* ... and was */
	REQUEST_EV_FORWARDED, /* a SIGTERM was forwarded, which may be a request to the job */
	REQUEST_EV_COMPLETE,  /* the answer to SENDING: `generation`; `late`: it began before */
	REQUEST_EV_DURABLE,   /* `generation`, and all before it */
	REQUEST_EV_ELSEWHERE, /* what is `event` in the gang's log, and all before it, is durable,
			       * by another member's checkpoint */
	REQUEST_EV_LOST,      /* the same will not become durable as far as is known */
	REQUEST_EV_NOT_ASKED, /* the job cannot be asked */
	REQUEST_EV_WITHDRAWN, /* the notice stands no more */
	REQUEST_EV_STOPPED,   /* the job is told to end, or has exited: it is asked no more */
	REQUEST_EV_SAVE_OVER, /* after BEGIN_LATER: is a save still under way (`saving`)? */
	REQUEST_EV_ENDED,     /* nothing more becomes durable */
	REQUEST_EV_GONE,      /* `client` has hung up */
	REQUEST_EVENTS,
};

struct request_event {
	enum request_event_kind kind;
	enum save_reason cause;
	void *client; /* NULL: nobody waits */
	bool until_asked;
	bool saving; /* the job is saving for an earlier asking */
	bool late;
	uint64_t generation;
	uint64_t id;
	uint32_t event; /* MADE: 0: not by another member */
};

enum request_effect_kind {
	REQUEST_DO_ASK,
	REQUEST_DO_STOP_ASKING,
	REQUEST_DO_USE_SAVE,    /* only said: the save under way serves the new request */
	REQUEST_DO_BEGIN_LATER, /* look soon whether the save under way has ended */
	REQUEST_DO_REPLY_ASKED,
	REQUEST_DO_REPLY_SAVED,
	REQUEST_DO_REPLY_DURABLE,
	REQUEST_DO_REPLY_FAILED,
	REQUEST_EFFECTS,
};

struct request_effect {
	enum request_effect_kind kind;
	void *client; /* of a reply */
	bool last;    /* of its replies: the client is forgotten */
};

struct request_effects {
	struct request_effect *items; /* owned; in the order in which they are performed */
	size_t count;
};

void request_table_step(struct request_table *table, const struct request_event *event,
			struct request_effects *effects);
void request_table_release(struct request_table *table);
void request_effects_release(struct request_effects *effects);
AUTO(struct request_effects, request_effects_release);

/* The phase of the request that `waiter` waits for. */
enum request_phase request_table_phase(const struct request_table *table,
				       const struct request_waiter *waiter);
/* A request waits for a checkpoint that the job was, is or will be asked for. */
bool request_table_is_open(const struct request_table *table);
/* The most urgent cause of the asking under way; SAVED_BY_ITSELF: none is. */
enum save_reason request_table_cause(const struct request_table *table);
/* Somebody waits for `generation`, or for more. */
bool request_table_awaits(const struct request_table *table);
/* Of a gang: the newest event of its log such that the newest complete checkpoint answers it, and
 * all before it; 0: none. The first notice counts for all that follows it. */
uint32_t request_table_saw(const struct request_table *table);

#endif
