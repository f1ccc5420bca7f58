/*
 * A pack that was found damaged is set aside: an object with `damaged/` in place of `packs/` in its
 * key says so. No snapshot that names it is sound from then on, and the next save sends anew what
 * it needs of it. The pack stays where it is, since it may be the way to it that is damaged, and
 * for what is whole in it. `reprieve verify --repair` takes it back where the pack is whole.
 */
#ifndef PACK_ASIDE_H
#define PACK_ASIDE_H

#include "storage_handle.h"

/* All block. `pack`: relative to the job, as in a manifest: "packs/000001/...". */

/* Lists what is set aside; the storage remembers it. */
int pack_aside_list(struct storage *storage, struct cancel *cancel, struct err *err);
/* By that listing. Does not block. */
bool pack_aside_has(const struct storage *storage, const char *pack);
int pack_aside_put(struct storage *storage, const char *pack, struct cancel *cancel,
		   struct err *err);
/* Of a pack in which reading has found damage (chunk_fetch.h): reads all of it once more, and sets
 * it aside if that is not whole, as well as it can. A store that cannot be written to is read again
 * the next time. */
void pack_aside_note(struct storage *storage, const char *pack, struct cancel *cancel);

/* Puts back what is whole of the packs that are set aside, and removes those that `is_needed`,
 * which is asked by the pack's key, says no of. *back: so many were put back. */
int pack_aside_sort_out(struct storage *storage, bool (*is_needed)(void *arg, const char *pack),
			void *arg, uint32_t *back, struct cancel *cancel, struct err *err);

#endif
