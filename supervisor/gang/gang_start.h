/*
 * The start of a gang, before the job starts anywhere. start_rules.h says what a member does next;
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
#include "start_rules.h"

/* Zeroed but for the first four, which the caller fills. */
struct gang_start {
	struct storage *storage;
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
int gang_start_next(struct gang_start *start, enum start_step *step, struct cancel *cancel,
		    struct err *err);
/* After RESTORE: it has. */
int gang_start_restored(struct gang_start *start, struct cancel *cancel, struct err *err);
/* After RESTORE: it could not, because of damage, which is marked in the store: all begin anew,
 * behind that. */
int gang_start_restart(struct gang_start *start, const char *reason, struct cancel *cancel,
		       struct err *err);

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
