/* PURE. Encodes and decodes one entry of a manifest, and one chunk. */
#ifndef MANIFEST_ENTRY_H
#define MANIFEST_ENTRY_H

#include "manifest.h"

/* `pack` is written as it is. The caller decrefs. */
json_t *manifest_chunk_encode(const struct chunk *chunk);

/* Checks that the chunk, of `raw_size` bytes, is inside one of the packs. ERR_CORRUPT. */
int manifest_chunk_decode(json_t *item, size_t raw_size, const struct manifest_pack *packs,
			  size_t pack_count, struct chunk *chunk, struct err *err);

/* The chunks of a file that an item has: all of them, or, in a piece of the list, a part. */
struct entry_part {
	size_t first, count;
};

/* The caller decrefs. */
json_t *manifest_entry_encode(const struct entry *entry);
/* An item with that part of the chunks of a file; entry->chunks[0] is the first of them. A later
 * part has only path, `from`, its own size and its chunks. The caller decrefs. */
json_t *manifest_entry_encode_part(const struct entry *entry, struct entry_part part);

/*
 * Checks what one entry alone can show: names, targets, sizes, and that chunks are inside their
 * packs. Even on failure the caller frees *entry with entry_release(). ERR_CORRUPT names what is
 * wrong.
 */
int manifest_entry_decode(json_t *item, const struct manifest_pack *packs, size_t pack_count,
			  struct entry *entry, struct err *err);
/* The same for an item that may be a part; *part tells which. The first has the file's size and so
 * many chunks at most; of a later part, entry->size is its own, and it has all chunks of that. */
int manifest_entry_decode_part(json_t *item, const struct manifest_pack *packs, size_t pack_count,
			       struct entry *entry, struct entry_part *part, struct err *err);

#endif
