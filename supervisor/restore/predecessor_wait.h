/*
 * Waits for the previous attempt while it is preempted and still saves. The previous one announces
 * in the store until when it may commit, and repeats that as a heartbeat.
 */
#ifndef PREDECESSOR_WAIT_H
#define PREDECESSOR_WAIT_H

#include "base/cancel.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/workers.h"
#include "storage/storage.h"

#include <stdbool.h>
#include <stdint.h>

/* --- PURE: how long --- */

/* The longest notice of any cloud (Azure, before maintenance). An announcement of more comes from a
 * scheduler, or is wrong. */
#define PREDECESSOR_WAIT_MOST_MS (15 * 60 * 1000)
/* An end record that was put at the last moment may arrive this much later. */
#define PREDECESSOR_WAIT_MARGIN_MS 2000

/* An attempt that saves repeats its announcement. One that is silent for longer than the timeout
 * has lost its machine. */
#define PREDECESSOR_HEARTBEAT_MS 10000
#define PREDECESSOR_HEARTBEAT_TIMEOUT_MS 25000

/*
 * Milliseconds until the announced time is over. 0: do not wait, because the previous attempt has
 * ended, has announced nothing, has withdrawn its announcement, or its time is over: a machine that
 * is gone withdraws nothing.
 */
int64_t predecessor_left_ms(const struct drain_state *draining);
/* Milliseconds until the next heartbeat is overdue, or the announced time is over. */
int64_t predecessor_wait_ms(const struct drain_state *draining);

struct predecessor {
	uint32_t attempt; /* 0: there was no wait */
	char host[65];
	bool ended; /* it left an end record; else its time was over, or it withdrew */
	int64_t waited_ms;
};

/*
 * Call before the claim, which would keep the previous attempt from committing. Blocks; logs for
 * whom it waits and how long at most. -1: the store cannot be read at first (later, the wait goes
 * on), or ERR_CANCELLED.
 */
int predecessor_wait(struct storage *storage, struct predecessor *predecessor,
		     struct cancel *cancel, struct err *err);

/*
 * At a notice, writes into the store until when this attempt may still commit. A next attempt that
 * starts early then waits instead of taking over (above). It has a thread of its own,
 * so that it waits for no upload and no webhook, and they do not wait for it.
 */

/* Zeroed: nothing was told. All members are this file's own. */
struct next_attempt {
	struct loop *loop;
	struct storage *storage;
	uint32_t attempt;        /* this one */
	struct workers *workers; /* NULL: no message was needed yet */
	struct cancel cancel;
	/* this attempt may commit until then; 0: it is not preempted. And as the last message said
	 */
	int64_t until_ms, told_ms;
	uint32_t messages;
	bool sending, failed;
	struct err err;
	struct timer again; /* the heartbeat, while this attempt saves */
	bool due;           /* for a heartbeat */
};

/*
 * Tells it that `attempt` may commit until then, in ms of CLOCK_MONOTONIC; 0: that it is not
 * preempted after all. Repeats it while the first holds. A store that fails is only said in the
 * debug log. Does not block; loop and storage are borrowed until next_attempt_release().
 */
void next_attempt_tell(struct next_attempt *next_attempt, struct loop *loop,
		       struct storage *storage, uint32_t attempt, int64_t until_ms);
/* Nothing more is told. Blocks for a message that is cancelled. */
void next_attempt_release(struct next_attempt *next_attempt);

#endif
