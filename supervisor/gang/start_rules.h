/*
 * PURE. The start of a gang: from what a member sees in the store, what it does next. Whoever
 * follows these rules may stand still or end between any look and what it does upon it:
 * tests/unit/gang/test_start_model.c goes through the orders in which that can happen.
 *
 *	- Everybody joins below the newest attempt that has left any record, confirmed or not,
 *	  unless that names it.
 *	- Before an attempt is claimed behind one of a gang, that is over: its log has a rejoin. As
 *	  event 1, where GANG_EVENT_GO competes with it, so that it never starts anywhere.
 *	- Member 0 claims the attempt behind the one that all have joined below, or none.
 *	- A member starts when event 1 of the attempt that names it is GANG_EVENT_GO.
 *	- One that cannot be a member (own.refused) says so to those that wait for it, and ends: by
 *	  a join, and as event 1 of an attempt that has not started. Then all others end.
 */
#ifndef START_RULES_H
#define START_RULES_H

#include "gang_roster.h"

enum start_step {
	/* Put the join below the newest attempt (gang_start_birth()). */
	START_STEP_JOIN,
	/* Look again later: members are missing; the claim is; it is not confirmed yet; not all
	 * have restored. */
	START_STEP_WAIT_FOR_MEMBERS,
	START_STEP_WAIT_FOR_CLAIM,
	START_STEP_WAIT_FOR_READY,
	/* Member 0: claim the next attempt with the members that are there. */
	START_STEP_CLAIM,
	/* Restore what the newest attempt starts from, and put the mark. */
	START_STEP_RESTORE,
	/* Member 0: append GANG_EVENT_GO as event 1 of the newest attempt. */
	START_STEP_GO,
	/* Append GANG_EVENT_OVER to the newest attempt. */
	START_STEP_REJOIN,
	/* Start the job. */
	START_STEP_START,
	START_STEP_END,
};

enum start_end {
	/* The roster says why (`by`). */
	START_END_ROSTER,
	/* The newest attempt has another process as this member, which came later; or it is of a
	 * later start. */
	START_END_STALE,
	START_END_OUTRUN,
	/* It was claimed while this one waited, and is not of a gang of so many members. */
	START_END_OTHER_GANG,
	/* Another member has said in the log that it cannot be one. */
	START_END_REFUSED,
	/* This one has, to whom it concerns. */
	START_END_OWN,
};

struct start_decision {
	enum start_step step;
	enum start_end end;
	/* What was judged below the newest attempt. */
	struct gang_roster roster;
};

enum gang_first_event {
	GANG_FIRST_NONE,
	GANG_FIRST_GO,
	GANG_FIRST_REJOIN,
	/* Of one that cannot be a member: GANG_EVENT_OVER with a code. */
	GANG_FIRST_REFUSED,
};

struct gang_seen {
	/* The newest attempt; number 0: there is none. */
	const struct gang_claim *claim;
	/* Below it. */
	const struct gang_join *joins;
	size_t join_count;
	/* Event 1 of its log. */
	enum gang_first_event first;
	/* For member 0. */
	bool all_ready;
	/* All that are started again together have had the time to come. */
	bool patient;
	bool settled; /* gang_roster_judge() */
};

struct gang_self {
	/* Its birth is known once it has joined, from the listing (gang_start_note_birth()). */
	struct gang_join own;
	bool whole; /* gang_roster_judge() */
	bool joined;
	/* It has joined below this attempt last. */
	uint32_t after;
	/* It has restored, and put the mark, for this one; 0: none. */
	uint32_t restored;
	/* It has said of this one that it is over; 0: of none. */
	uint32_t rejoined;
};

struct start_decision gang_start_decide(const struct gang_self *self, const struct gang_seen *seen);

/* Before the first join: fills in when it has come. */
void gang_start_birth(const struct gang_seen *seen, struct gang_join *own);
/* After it, once it is listed: when it began. */
void gang_start_note_birth(const struct gang_seen *seen, struct gang_join *own);

#endif
