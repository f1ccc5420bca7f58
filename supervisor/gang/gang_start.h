/*
 * The start of a gang, before the job starts anywhere:
 *
 *	1  each member joins; member 0 waits for all, and claims an attempt that names them
 *	2  each restores its part of what the claim says (resume.c)
 *	3  each says so, and waits until all have: gang_start_wait()
 *
 * If a member comes anew before the third is over (its machine died meanwhile), all join once more,
 * and member 0 claims again: so the wait has two ends. Everything here blocks, honours `cancel`,
 * and logs for whom it waits.
 */
#ifndef GANG_START_H
#define GANG_START_H

#include "base/cancel.h"
#include "base/err.h"
#include "gang_identity.h"
#include "gang_roster.h"

/* Zeroed but for the first three, which the caller fills. */
struct gang_start {
	struct storage *storage;
	struct gang_identity identity;
	/* For the members to come, and for them to restore. */
	int64_t join_ms;

	/* The join that stands, and the attempt that it comes after; nonce "": none does. */
	struct gang_join own;
	uint32_t after;
	/* The attempt that this member has restored and waits with; 0: none. */
	uint32_t restored;
	int64_t until_ms, say_ms;
	/* The most that were there in this wait, and who was missing then. */
	uint32_t there, missing;
	unsigned looks;
};

/*
 * Member 0: waits until all members are there; joins[] is what it is to claim with
 * (storage_gang_describe()), one for each member. ERR_INVALID: this machine is stale, or another
 * one contradicts it; ERR_RETRY: `join_ms` is over.
 */
int gang_start_gather(struct gang_start *start, struct gang_join *joins, struct cancel *cancel,
		      struct err *err);
/* Member 0, after its claim. */
void gang_start_claimed(struct gang_start *start, uint32_t attempt);

/*
 * The others: waits for the claim that names this member, and gives its number. The same errors.
 * *go: no new one is needed, since all may start with what was restored before.
 */
int gang_start_follow(struct gang_start *start, uint32_t *attempt, bool *go, struct cancel *cancel,
		      struct err *err);

/* Says that this member has restored, and waits. *go: all have, and the job may start; else a
 * member has come anew, and all gather once more. */
int gang_start_wait(struct gang_start *start, uint32_t attempt, bool *go, struct cancel *cancel,
		    struct err *err);

/* This start has failed: nobody is to wait for this machine. */
void gang_start_leave(struct gang_start *start);

#endif
