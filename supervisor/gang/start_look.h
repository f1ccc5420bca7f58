/*
 * What a member looks at in the store while it waits for the others. One look at all is some four
 * requests, and lists what all have put. So most looks are one request, for what can change:
 *
 *	waits for members	member 0 lists who has joined; the others ask for the next claim
 *	waits for all to have	all ask for event 1 of the log; member 0 also lists who has
 *	  restored
 *
 * What they cannot see (a contradiction, who is missing) the others see in a look at all, 5 s after
 * they have come, and then ever more rarely, up to every 30 s. All of it blocks.
 */
#ifndef START_LOOK_H
#define START_LOOK_H

#include "gang_start.h"

struct start_looked {
	struct gang_seen seen;
	/* It was a look at all. */
	bool whole;
	/* How many have restored, and the first that has not. */
	uint32_t ready, unready;
};

int start_look(struct gang_start *start, struct start_looked *looked, struct cancel *cancel,
	       struct err *err);
/* PURE. What is decided upon one request has to be decided once more upon all. */
bool start_look_must_be_whole(const struct start_decision *decision);
/* A wait has begun. */
void start_look_put_off(struct gang_start *start);
/* The newest attempt that was looked at names this process. */
bool start_look_is_named(const struct gang_start *start);

#endif
