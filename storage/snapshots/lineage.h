/*
 * PURE. Attempts and snapshots -> who continues from whom. Clocks play no part: only numbers and
 * what each claim says it starts from.
 *
 * The chain, newest first: the newest attempt's own snapshots, then the one that it started from,
 * then the older ones of that attempt, then what that attempt started from, and so on. A snapshot
 * that is not on it was left behind by some claim.
 *
 * When an attempt's record is lost or damaged, the parent of its first snapshot tells what it
 * started from (the caller looks and fills `start`). With neither, it is taken to have continued
 * from the newest snapshot of the attempt before it: it left nothing that could have forked off, so
 * the worst that may happen is that a late commit is taken for a good one, never that good work is
 * passed over or a torn one chosen.
 */
#ifndef LINEAGE_H
#define LINEAGE_H

#include "storage/storage.h"

struct lineage_attempt {
	uint32_t number;
	bool known; /* what it started from */
	struct snapshot_id start;
	struct snapshot_id suspect; /* passed over on purpose; none: nothing was */
	enum restore_policy policy;
};

struct lineage {
	struct lineage_attempt *attempts; /* ascending */
	size_t attempt_count;
	struct snapshot_id *snapshots; /* ascending */
	size_t snapshot_count;
};

/* Highest number that an attempt or a snapshot has; 0 for none. */
uint32_t lineage_newest_attempt(const struct lineage *lineage);

/* Fills `chain` (of snapshot_count), newest first, as the attempts up to `newest` (inclusive) leave
 * it; returns how many. */
size_t lineage_chain(const struct lineage *lineage, uint32_t newest, struct snapshot_id *chain);

/* The same for what lies at and behind one snapshot. */
size_t lineage_chain_from(const struct lineage *lineage, struct snapshot_id head,
			  struct snapshot_id *chain);

/* GOOD (on the chain), LATE, ABANDONED or SUSPECT: by the first claim that left it behind. */
enum snapshot_state lineage_state(const struct lineage *lineage, struct snapshot_id id);

#endif
