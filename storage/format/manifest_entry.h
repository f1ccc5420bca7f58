/* PURE. One entry of a manifest as JSON and back. */
#ifndef MANIFEST_ENTRY_H
#define MANIFEST_ENTRY_H

#include "manifest.h"

json_t *manifest_entry_encode(const struct entry *entry);

/* Checks what can be seen from the entry alone: names, targets, sizes, chunks within their packs.
 * On failure *entry holds what entry_release() frees. */
int manifest_entry_decode(json_t *item, const struct manifest_pack *packs, size_t pack_count,
			  struct entry *entry, struct err *err);

#endif
