/*
 * PRIVATE: packs that no manifest names because whoever wrote them was killed before the commit.
 * Each describes itself (pack.h), so the next attempt need not send their chunks again. FORMAT.md
 * says why that goes together with sweeping.
 */
#ifndef ORPHAN_PACKS_H
#define ORPHAN_PACKS_H

#include "job_records.h"

/* PURE. Keys from a listing of packs that are leftovers: written for a snapshot after `parent`, and
 * not in `index`. Newest first, at most `most`. They point into the listing. */
size_t orphan_packs_select(const struct store_listing *packs, const char *prefix,
			   struct snapshot_id parent, struct chunk_index *index,
			   const struct store_object **chosen, size_t most);

/* PURE. How long to look for them at most, when so much is left before the deadline. */
int64_t orphan_packs_time_limit_ms(int64_t left_ms);

/* Reads the indexes at their ends, many at once, newest first, for a few seconds at most. Packs
 * that cannot be read or are no packs are passed over: -1 is only ERR_CANCELLED. */
int orphan_packs_load(struct storage *storage, const struct store_listing *packs,
		      struct snapshot_id parent, struct cancel *cancel, struct err *err);

#endif
