/* PRIVATE: fills the index of chunks with what the store already holds, before a save sends what is
 * new. */
#ifndef INDEX_WARMUP_H
#define INDEX_WARMUP_H

#include "storage/records/records.h"

/*
 * Fills the index with the chunks that a save of `attempt` may rely on. The first call of a process
 * reads the manifest of `parent`, the list of the packs that it names, and the packs that killed
 * attempts left behind. A later call drops what was found lost since.
 *
 * A damaged manifest or pack is no error: its chunks are sent again. -1 means a failure of the
 * store itself, or ERR_CANCELLED.
 */
int index_warmup(struct storage *storage, struct snapshot_id parent, uint32_t attempt,
		 struct cancel *cancel, struct err *err);

/* Wants what it lists (look.h), for whoever saves as soon as the claim of `attempt` is there. Does
 * not block. */
void index_warmup_want(struct storage *storage, struct snapshot_id parent, uint32_t attempt);

#endif
