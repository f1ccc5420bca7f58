/*
 * PURE. Derives from attempts and snapshots which snapshot the next attempt continues from. Clocks
 * play no part: only numbers count, and the snapshot that each claim says it starts from.
 *
 * The chain, newest first, has the snapshots of the newest attempt, then the one that this attempt
 * started from, then the older ones of that attempt, then the one that *that* attempt started from,
 * and so on. A snapshot off the chain was left behind by some claim.
 *
 * When an attempt's record is lost or damaged, the parent of its first snapshot shows what it
 * started from (the caller reads it and fills `start`). Without either, the attempt is assumed to
 * have continued from the newest snapshot of the attempt before it. That attempt left no snapshot
 * that could have forked off, so the worst error is to accept a late commit; good work is never
 * skipped and an incomplete snapshot is never chosen.
 */
#ifndef LINEAGE_H
#define LINEAGE_H

#include "storage/storage.h"

struct lineage_attempt {
	uint32_t number;
	bool claimed;       /* its claim is listed */
	bool ended;         /* it has an end record */
	int64_t claimed_ms; /* when its claim was put, by the store's clock; 0: unknown */
	bool known;         /* `start` and `policy` are known */
	/* Its claimer died before it had looked again (FORMAT.md, "Claiming"), and it has no
	 * snapshot: what it chose does not count. */
	bool unconfirmed;
	bool by_hand; /* claimed for one save, which leaves an end record only if it fails */
	bool saved;   /* a snapshot of it is there */
	bool unread;  /* its claim has not been looked at: `known` is false */
	struct snapshot_id start;
	/* skipped on purpose because the job kept crashing from it; none: no snapshot was */
	struct snapshot_id suspect;
	enum restore_policy policy;
};

struct lineage {
	struct lineage_attempt *attempts; /* ascending */
	size_t attempt_count;
	struct snapshot_id *snapshots; /* ascending */
	size_t snapshot_count;
};

/* "latest", "none", "this": as claims name them. */
const char *restore_policy_name(enum restore_policy policy);
/* False: no policy has this name. */
bool restore_policy_parse(const char *name, enum restore_policy *policy);

/* The highest attempt number, taken over records and snapshots; 0 for none. */
uint32_t lineage_newest_attempt(const struct lineage *lineage);

/* Nothing of it is under way any more. Its claim was read. */
bool lineage_has_ended(const struct lineage_attempt *attempt);

/* The position of the first of the attempts that has this number or a later one. */
size_t lineage_attempt_from(const struct lineage_attempt *attempts, size_t count, uint32_t number);

/* The position of the first snapshot that is not before `id`. */
size_t lineage_first_from(const struct lineage *lineage, struct snapshot_id id);

/*
 * The first attempt, from `newest` on back along the chain, whose claim must be read before the
 * chain is known as far as `until`, an attempt; 0: none. With 0 for `until`: as far as the first
 * snapshot.
 */
uint32_t lineage_next_unread(const struct lineage *lineage, uint32_t newest, uint32_t until);

/* Fills `chain` (room for snapshot_count ids) with the chain as it was when `newest` was the newest
 * attempt, newest snapshot first; returns its length. */
size_t lineage_chain(const struct lineage *lineage, uint32_t newest, struct snapshot_id *chain);

/*
 * Where lists may be late: the snapshot to ask for by name, of those up to eight behind the newest
 * of each attempt, from the attempt of the newest snapshot on. `asked`: what was asked for last,
 * which is in the lineage now if it was there; none at first. None: nothing is left to ask.
 */
struct snapshot_id lineage_ask_next(const struct lineage *lineage, struct snapshot_id asked);

/* Fills `states`, one for each of lineage->snapshots: GOOD for a snapshot on the chain; otherwise
 * FENCED, SUPERSEDED_BY_RESTORE or SUSPECT, according to the first claim that left it behind. */
void lineage_states(const struct lineage *lineage, enum snapshot_state *states);

/* The same for one id, which need not be a snapshot of the lineage: a checkpoint that was never
 * committed has a place in the line as well. */
enum snapshot_state lineage_state(const struct lineage *lineage, struct snapshot_id id);

#endif
