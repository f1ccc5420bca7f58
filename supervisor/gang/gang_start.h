/*
 * The start of a gang, before the job starts anywhere. start_rules.c says what a member does next;
 * this looks, does it, and comes back for what the caller has to do:
 *
 *	1  each member joins; member 0 waits for all, and claims an attempt that names them
 *	2  each restores its part of what the claim says (resume.c)
 *	3  each says so, and waits until member 0 has said that all have
 *
 * If a member comes anew before that, the attempt is over, and all join once more. Everything here
 * blocks, honours `cancel`, and logs for whom it waits.
 */
#ifndef GANG_START_H
#define GANG_START_H

#include "base/cancel.h"
#include "base/err.h"
#include "gang_identity.h"
#include "storage/storage.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- start_rules.c: the roster --- */

/*
 * PURE. Who has come to the start of a gang, and who counts: of two that say that they are the same
 * member, the one that came later, since a machine that was replaced may wake up; of two starts
 * that the launcher tells apart, the later one as a whole.
 */

/* Another number of members, or one that cannot be a member, is an error of all if it came in this
 * time before this one, or later; what is older was left by a start that failed. So was what its
 * machine has said otherwise since. And two machines that are one member are so if they began
 * within it: nobody is replaced so soon while it lives. */
#define GANG_CONTRADICTION_MS 60000

enum gang_roster_state {
	ROSTER_WAITING,
	ROSTER_COMPLETE,
	/* Another process that came later says that it is this member. */
	ROSTER_REPLACED,
	/* The launcher has started the gang once more since. */
	ROSTER_OUTRUN,
	/* Another machine says that there is another number of members. */
	ROSTER_CONTRADICTED,
	/* Two of one start say that they are one member, where the launcher starts nobody again
	 * alone. */
	ROSTER_DOUBLED,
	/* Another process that came later says that it is this member, on another machine, and
	 * began at about the same time: none has taken the place of the other. */
	ROSTER_TWICE,
	/* One says that it cannot be a member (join.members 0: it does not know which one, and is
	 * of the same launch). */
	ROSTER_REFUSED,
};

/* What is known beside the joins. */
struct gang_roster_view {
	/* The launcher starts all of a start again, or nobody. */
	bool whole;
	/* Whoever was there before this process began has had the time to be started again, if it
	 * is to be: what contradicts this start counts. */
	bool settled;
};

struct gang_roster {
	enum gang_roster_state state;
	uint32_t there;
	/* WAITING: the first member that has not come. */
	uint32_t missing;
	/* REPLACED, OUTRUN, CONTRADICTED, REFUSED: by this one; TWICE, DOUBLED: these two. */
	struct gang_join by, with;
};

/* What the clock of a store does not tell apart. */
#define GANG_SAME_TIME_MS 2000

/* `own` is among the joins, unless it is not listed yet. */
struct gang_roster gang_roster_judge(const struct gang_join *joins, size_t count,
				     const struct gang_join *own, struct gang_roster_view view);

/* Of the joins of one's own start, the newest of each member; all must be there. (None of
 * those is refused.) */
void gang_roster_choose(const struct gang_join *joins, size_t count, const struct gang_join *own,
			struct gang_join *chosen);

/* --- start_rules.c: the next step --- */

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
	/* The roster says why (`by`); or the newest attempt, which has another process as this
	 * member, that came later, or is of a later start. */
	START_END_ROSTER,
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

/* Zeroed but for the first four, which the caller fills. */
struct gang_start {
	struct storage *storage;
	struct cancel *cancel; /* of what is done now; borrowed */
	struct gang_identity identity;
	/* For the members to come, and for them to restore. */
	int64_t join_ms;

	/* The caller may have filled its nonce. */
	struct gang_self self;
	/* The newest attempt: to be restored (START_STEP_RESTORE), claimed behind (CLAIM), or to be
	 * started in (START). */
	struct gang_claim claim;
	/* CLAIM: one for each member. */
	struct gang_join *chosen;

	struct gang_records records;
	/* Event 1 of the newest attempt, as it was looked at last. */
	struct gang_event first;
	enum gang_first_event first_kind;
	/* What this one has found is an error of all, and they do not know it. */
	bool tells_all;
	/* Others have not come within the time. */
	bool waited_in_vain;
	/* Why this machine cannot be a member. */
	char refusal[160];
	/* The newest attempt is over because one of its members cannot be one. */
	bool is_refused;
	/* In this one a rejoin lies behind event 1. */
	uint32_t over;
	int64_t joined_ms, until_ms, say_ms;
	/* When the next look is at all that there is, and how long the one behind it is put off. */
	int64_t full_ms, full_every_ms;
	/* The claim was read just now, but not what lies below it. */
	bool claim_is_new;
	/* The most that were there in this wait, and who was missing then. */
	uint32_t there, missing;
	unsigned looks;
};
void gang_start_release(struct gang_start *start);
AUTO(struct gang_start, gang_start_release);

/*
 * Goes on until the caller has to do something: *step is CLAIM (with `chosen`, as the attempt after
 * `claim.attempt`), RESTORE, or START. ERR_INVALID: this machine is stale, or others contradict it;
 * ERR_RETRY: `join_ms` is over.
 */
int gang_start_next(struct gang_start *start, enum start_step *step, struct err *err);
/* After RESTORE: it has. */
int gang_start_restored(struct gang_start *start, struct err *err);
/* Appends that the attempt is over: all begin anew. After RESTORE, if it could not, because of
 * damage, which is marked in the store: behind that. */
int gang_start_restart(struct gang_start *start, const char *reason, struct err *err);

/* This machine cannot be a member, for good: all others are to end. Best effort, for some seconds;
 * nothing goes on after that. */
void gang_start_refuse(struct gang_start *start, const char *reason);

/* What this machine was told of the gang makes no sense, so that it does not even know which member
 * it is, or of how many: those of its `launch` (gang_identity.launch) that wait for it are told
 * why. ERR_NOT_FOUND: none of them is there yet, and nothing was put. A few requests. */
int gang_start_contradict(struct storage *storage, const char *launch, const char *reason,
			  struct cancel *cancel, struct err *err);

/* This start has failed: nobody is to wait for this machine. `reason`: also those whose attempt
 * names it are told, and gather anew; NULL: not. Best effort, for some seconds. */
void gang_start_leave(struct gang_start *start, const char *reason);
/* The attempt has begun, and the job of this machine will not be started: the others are not to
 * wait for it in their first collective. Best effort, for some seconds. */
void gang_start_never(struct storage *storage, uint32_t attempt, uint32_t member,
		      const char *reason);
/* After START, for member 0: removes what earlier starts have left. */
void gang_start_sweep(struct gang_start *start);

#endif
