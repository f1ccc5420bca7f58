/*
 * PURE. Checks a pack that was read as a whole: its index, and every chunk in it, whether a
 * manifest names it or not.
 */
#ifndef WHOLE_PACK_H
#define WHOLE_PACK_H

#include "base/err.h"
#include "base/text.h"
#include "chunk.h"
#include "pack.h"

/* A pack and the results of its check. `space`, with room for CHUNK_SIZE, is the caller's to give;
 * all is freed by whole_pack_release(). */
struct whole_pack {
	const char *key; /* borrowed */
	struct bytes data;
	struct pack_record *records; /* NULL: the index is unreadable */
	uint32_t record_count;
	char (*faults)[96]; /* one per record; "": the chunk is sound */
	bool *used;         /* one per record: a manifest names the chunk */
	bool damaged;       /* what was read is not what was written */
	uint8_t *space;
};

/* Makes it ready for the content of another pack; what `data` and `space` have is used again. */
void whole_pack_reset(struct whole_pack *pack, const char *key);
void whole_pack_release(struct whole_pack *pack);

/* Reads the index. ERR_CORRUPT: it is damaged, or there are bytes that belong to no chunk. */
int whole_pack_check_index(struct whole_pack *pack, struct err *err);
/* Checks the chunks of the index, and fills `faults`. */
void whole_pack_check_chunks(struct whole_pack *pack);
/* Checks a chunk as the manifest describes it. If the index describes it the same way, it has been
 * checked already, and is `used`. ERR_CORRUPT. */
int whole_pack_check_chunk(struct whole_pack *pack, const struct chunk *chunk, size_t raw_size,
			   struct err *err);

#endif
