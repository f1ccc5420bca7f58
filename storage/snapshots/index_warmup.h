/* PRIVATE: fills the index of chunks with what the store already holds, while a save begins to send
 * what is new. */
#ifndef INDEX_WARMUP_H
#define INDEX_WARMUP_H

#include "storage/records/records.h"

/*
 * Fills the index with the chunks that a save of `attempt` may rely on. The first call of a process
 * reads the manifest of `parent` and the packs that killed attempts left behind, and begins to list
 * the packs that the manifest names, which may be very many: until index_warmup_join() they count
 * as there. A later call drops what was found lost since.
 *
 * A damaged manifest or pack is no error: its chunks are sent again. -1 means a failure of the
 * store itself, or ERR_CANCELLED.
 */
int index_warmup(struct storage *storage, struct snapshot_id parent, uint32_t attempt,
		 struct cancel *cancel, struct err *err);

/* Waits for that listing, if one is under way, and marks the packs that it does not show as lost.
 * Not while readers look for chunks. -1 as above. */
int index_warmup_join(struct storage *storage, struct cancel *cancel, struct err *err);

/* Gives the listing up. */
void index_warmup_end(struct storage *storage);

#endif
