/* PRIVATE to storage/. The list of a snapshot's entries in packs: sends it and loads it. A small
 * list is in the manifest itself. */
#ifndef ENTRY_LIST_H
#define ENTRY_LIST_H

#include "storage_handle.h"

/*
 * Packs the entries of the manifest in pieces, unless they are few and not to be `apart`, and hands
 * the packs to the uploader. `pack` in the chunks of the entries is a position in the index, and so
 * it is in those of manifest->pieces. Blocks until all is handed over, not until it is sent; errors
 * as for packer_reserve().
 */
int entry_list_send(struct packing *packing, struct manifest *manifest, bool apart,
		    struct err *err);

/*
 * Loads the entries of a manifest that has them in pieces; any other has them already. Blocks, on
 * several threads. ERR_CORRUPT: a piece is damaged, which is written down if the store can be
 * written to, or the list makes no sense. After a failure the manifest has no entries.
 */
int entry_list_load(struct storage *storage, struct manifest *manifest, struct cancel *cancel,
		    struct err *err);

#endif
