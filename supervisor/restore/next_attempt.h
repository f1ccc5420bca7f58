/*
 * At a notice, writes into the store until when this attempt may still commit. A next attempt that
 * starts early then waits instead of taking over (predecessor_wait.h). It has a thread of its own,
 * so that it waits for no upload and no webhook, and they do not wait for it.
 */
#ifndef NEXT_ATTEMPT_H
#define NEXT_ATTEMPT_H

#include "base/cancel.h"
#include "base/loop.h"
#include "base/workers.h"
#include "storage/storage.h"

#include <stdbool.h>
#include <stdint.h>

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
