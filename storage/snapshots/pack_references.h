/*
 * PURE. What manifests say about packs, in the order in which it is checked: by pack, and within
 * one by place.
 */
#ifndef PACK_REFERENCES_H
#define PACK_REFERENCES_H

#include "base/cleanup.h"
#include "storage/format/format.h"

#include <stdbool.h>
#include <stddef.h>

/* That a pack exists, that it holds one chunk of a file (`entry`), or a piece of the list of files
 * (`piece`). All borrowed from the manifest. */
struct pack_reference {
	const char *key;
	const struct manifest *manifest;
	size_t pack; /* in the manifest's table */
	const struct entry *entry;
	size_t number; /* of the chunk */
	const struct manifest_piece *piece;
};

/* Zero-initialise. */
struct pack_references {
	struct pack_reference *items; /* owned */
	size_t count;
};

/* All that it says. Chunks of zeros are in no pack. The manifest stays where it is. */
void pack_references_add(struct pack_references *references, const struct manifest *manifest);
void pack_references_sort(struct pack_references *references);
void pack_references_release(struct pack_references *references);
AUTO(struct pack_references, pack_references_release);

/* How many of the `left` from here on are of the first one's pack, once they are sorted. */
size_t pack_references_of_one(const struct pack_reference *first, size_t left);
/* It says only that the pack exists. */
bool pack_reference_is_of_pack(const struct pack_reference *reference);
/* The chunk that it is about; NULL: it is about none. */
const struct chunk *pack_reference_chunk(const struct pack_reference *reference);

#endif
