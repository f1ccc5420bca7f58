/* PRIVATE. The table of packs of a manifest that is about to be committed. */
#ifndef PACK_NUMBERS_H
#define PACK_NUMBERS_H

#include "storage/transfer/transfer.h"

/*
 * Replaces the positions in the index's table of packs, which has other packs too, by positions in
 * a table of just the packs that the entries and pieces of the manifest need: manifest->packs,
 * sorted by key. Adds those that no manifest names yet to manifest->bytes_stored. Every pack is in
 * the store by now: only then its size is known.
 */
void pack_numbers_assign(const struct chunk_index *index, struct manifest *manifest);

#endif
