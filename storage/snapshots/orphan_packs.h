/*
 * PRIVATE: packs that no manifest names because their writer was killed before the commit. A pack
 * describes its own chunks (pack.h), so the next attempt need not send them again. FORMAT.md,
 * "Orphaned packs", says why this is safe beside garbage collection.
 */
#ifndef ORPHAN_PACKS_H
#define ORPHAN_PACKS_H

#include "storage/records/records.h"

/*
 * PURE. Selects from a listing the packs that were written for a snapshot after `behind` and are
 * not in `index`: newest first, at most `most`. `chosen` points into the listing. Returns the
 * count.
 */
size_t orphan_packs_select(const struct store_listing *packs, const char *prefix,
			   struct snapshot_id behind, struct chunk_index *index,
			   const struct store_object **chosen, size_t most);

/* PURE. The time in ms to spend on reading orphaned packs: a tenth of the time that is left before
 * the deadline, at most 5 s. */
int64_t orphan_packs_time_limit_ms(int64_t left_ms);

/* Expects `behind` to be the newest snapshot that there was when the attempt was claimed, or newer.
 * Reads the indexes at the ends of the packs, 16 at a time, newest first, and adds their chunks to
 * the index of the storage. An unreadable pack is skipped. -1 only for ERR_CANCELLED. */
int orphan_packs_load(struct storage *storage, const struct store_listing *packs,
		      struct snapshot_id behind, struct cancel *cancel, struct err *err);

#endif
