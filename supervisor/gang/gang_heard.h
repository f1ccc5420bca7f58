/*
 * PURE. When each member was last known to live, by what has come to this one through the store. A
 * member says nothing while its job trains, and a killed one says nothing of that: so how long it
 * is since then is all that is known of the others from afar.
 *
 * An event is a sign of whoever has put it. The start is one of all, and so is a commit, which has
 * the parts of all: each has given its own after the round was opened, and how long after is not
 * known. Times are those of the monotonic clock, at which this member has read of it.
 */
#ifndef GANG_HEARD_H
#define GANG_HEARD_H

#include "gang_view.h"

struct gang_heard {
	int64_t *ms; /* of each member */
	uint32_t members;
	/* The newest round, and when it was opened; the newest that is known to be committed. */
	uint32_t round, committed;
	int64_t opened_ms;
};

/* All have come to the start. */
struct gang_heard gang_heard_new(uint32_t members, int64_t now_ms);
void gang_heard_release(struct gang_heard *heard);
AUTO(struct gang_heard, gang_heard_release);

/* `event` was folded into the view; NULL: something else was told to it. */
void gang_heard_note(struct gang_heard *heard, const struct gang_view *view,
		     const struct gang_event *event, int64_t now_ms);

#endif
