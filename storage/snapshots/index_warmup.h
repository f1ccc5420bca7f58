/* PRIVATE: fills the index of chunks with what the store already holds, before a save sends
 * anything. */
#ifndef INDEX_WARMUP_H
#define INDEX_WARMUP_H

#include "job_records.h"

/*
 * Fills the index with the chunks that a save of `attempt` may rely on. The first call of a process
 * reads the manifest of `parent` and the packs that killed attempts left behind; a later call drops
 * what was found lost since.
 *
 * A damaged manifest or pack is no error: its chunks are sent again. -1 means a failure of the
 * store itself, or ERR_CANCELLED.
 */
int index_warmup(struct storage *storage, struct snapshot_id parent, uint32_t attempt,
		 struct cancel *cancel, struct err *err);

#endif
