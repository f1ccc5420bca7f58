/*
 * PUBLIC, through storage.h. A gang: N processes, one a machine, that take and restore the
 * snapshots of one job together. A snapshot of a gang is committed when the parts of all members
 * are in the store, and not before. FORMAT.md, "Gangs", says what lies in the store.
 */
#ifndef STORAGE_GANG_H
#define STORAGE_GANG_H

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "storage_attempts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Members are numbered from 0, and there are at most so many. */
#define STORAGE_GANG_MOST 16384

/*
 * From now on this process is one of `members`: storage_save() puts its part, and returns once the
 * snapshot of all is committed; what is restored and listed of a snapshot is this member's part.
 * With `members` 1 it is one machine, for which a gang's snapshot is ERR_UNFIT. Does not block.
 */
void storage_set_gang(struct storage *storage, uint32_t members, uint32_t member);

/* --- the start of a gang --- */

/* A process that wants to be a member in the attempt after `after`. */
struct gang_join {
	uint32_t member, members;
	char nonce[33];
	/* By the store's clock; 0: unknown. */
	int64_t put_ms;
};

/* What lies in the store for the attempt that follows `after`, and for `after` itself. */
struct gang_records {
	struct gang_join *joins;
	size_t join_count;
	/* Members of attempt `after` that have restored. */
	uint32_t *ready;
	size_t ready_count;
	/* All members of attempt `after` may start the job. */
	bool go;
};
void gang_records_release(struct gang_records *records);
AUTO(struct gang_records, gang_records_release);

/* One listing. */
int storage_gang_look(struct storage *storage, uint32_t after, struct gang_records *records,
		      struct cancel *cancel, struct err *err);
int storage_gang_join(struct storage *storage, uint32_t after, const struct gang_join *join,
		      struct cancel *cancel, struct err *err);
/* Takes it back. */
void storage_gang_leave(struct storage *storage, uint32_t after, const struct gang_join *join,
			struct cancel *cancel);
/* The host in the record of a join; "" if it cannot be read. */
void storage_gang_host(struct storage *storage, uint32_t after, const struct gang_join *join,
		       char host[65], struct cancel *cancel);

/* What a member 0 adds to the `about` of its claim; the caller decrefs. `joins`: one for each
 * member, in their order. */
json_t *storage_gang_describe(const struct gang_join *joins, uint32_t members);

/* The newest attempt that has been claimed and confirmed, and what its claim says of the gang. */
struct gang_claim {
	/* 0: there is none. */
	uint32_t attempt;
	/* The nonce of this one's member in it; "": it is not of a gang, or of a smaller one. */
	char nonce[33];
	char host[65];
};
int storage_gang_newest_claim(struct storage *storage, uint32_t member, struct gang_claim *claim,
			      struct cancel *cancel, struct err *err);
/* The newest attempt with a claim, confirmed or not; 0: none. */
int storage_gang_newest_attempt(struct storage *storage, uint32_t *newest, struct cancel *cancel,
				struct err *err);
/* Makes the attempt this process's own: what it starts from is as member 0 has claimed it. */
int storage_gang_adopt(struct storage *storage, uint32_t number, struct attempt *attempt,
		       struct cancel *cancel, struct err *err);

/* This member has restored what attempt `attempt` starts from. */
int storage_gang_ready(struct storage *storage, uint32_t attempt, struct cancel *cancel,
		       struct err *err);
/* All have: they may start the job. */
int storage_gang_go(struct storage *storage, uint32_t attempt, struct cancel *cancel,
		    struct err *err);
/* A member that is to end, so that all are. */
struct gang_notice {
	uint32_t member;
	/* Of its time, when it said so. */
	int64_t left_ms;
	/* As it was found: the gang has committed a snapshot since. */
	bool answered;
	char host[65], reason[160];
};
/* Both may be called while another thread uses the storage. */
int storage_gang_put_notice(struct storage *storage, uint32_t attempt,
			    const struct gang_notice *notice, struct cancel *cancel,
			    struct err *err);
/* *any: there is one of another member of this attempt. One listing, if there is none. */
int storage_gang_find_notice(struct storage *storage, uint32_t attempt, struct gang_notice *notice,
			     bool *any, struct cancel *cancel, struct err *err);

/* Removes what attempts before `attempt` have left: joins, and parts that no snapshot came of. Best
 * effort. */
void storage_gang_sweep(struct storage *storage, uint32_t attempt, struct cancel *cancel);

#endif
