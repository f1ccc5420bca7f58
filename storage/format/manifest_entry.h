/* PURE. Encodes and decodes one entry of a manifest. */
#ifndef MANIFEST_ENTRY_H
#define MANIFEST_ENTRY_H

#include "manifest.h"

/* The caller decrefs. */
json_t *manifest_entry_encode(const struct entry *entry);

/*
 * Checks what one entry alone can show: names, targets, sizes, and that chunks are inside their
 * packs. Even on failure the caller frees *entry with entry_release(). ERR_CORRUPT names what is
 * wrong.
 */
int manifest_entry_decode(json_t *item, const struct manifest_pack *packs, size_t pack_count,
			  struct entry *entry, struct err *err);

#endif
