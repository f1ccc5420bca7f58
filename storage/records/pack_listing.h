/*
 * Lists the packs of a job: all, or those that a manifest names; and holds a manifest against what
 * is listed. For storage/snapshots/ only. The functions that take a `cancel` block on the store;
 * the caller releases what they fill.
 */
#ifndef PACK_LISTING_H
#define PACK_LISTING_H

#include "storage/backend/backend.h"
#include "storage/format/format.h"
#include "storage_handle.h"

/* The packs of the job, as the store lists them: sorted by key, so that the newest come last. */
int pack_listing_get_all(struct storage *storage, struct store_listing *packs,
			 struct cancel *cancel, struct err *err);
/* So many listings at most are made instead of one of all packs. */
#define PACK_LISTINGS_MOST 4
/* The packs below these prefixes, which are relative to the job ("packs/000001/"), all at once;
 * `aside`: and what is set aside (pack_aside_list()). */
int pack_listing_get_prefixes(struct storage *storage, char *const *prefixes, size_t count,
			      bool aside, struct store_listing *packs, struct cancel *cancel,
			      struct err *err);
/* Prefixes that cover all packs which the manifest names: of saves (of one member's, in a gang), of
 * attempts, or of all. Returns how many; the caller frees each. */
size_t pack_listing_named_prefixes(const struct storage *storage, const struct manifest *manifest,
				   char *prefixes[PACK_LISTINGS_MOST]);
/* Lists what the manifest names: the packs below those prefixes. */
int pack_listing_get_named(struct storage *storage, const struct manifest *manifest,
			   struct store_listing *packs, struct cancel *cancel, struct err *err);

/* PURE. Checks that every pack of the manifest is listed with the size that the manifest gives.
 * ERR_CORRUPT names the first one that is not so. */
int pack_listing_check(struct storage *storage, const struct manifest *manifest,
		       const struct store_listing *packs, struct err *err);

/* In ms since 1970: puts an object below tmp/, reads its date and removes it. *now_ms 0: the store
 * reports no dates. */
int store_clock_read(struct storage *storage, int64_t *now_ms, struct cancel *cancel,
		     struct err *err);
/* Removes what a killed `reprieve doctor` or clock reading has left below tmp/ a day ago. Best
 * effort. */
void store_clock_remove_temporaries(struct storage *storage, int64_t now_ms, struct cancel *cancel);

/*
 * A pack that was found damaged is set aside: an object with `damaged/` in place of `packs/` in its
 * key says so. No snapshot that names it is sound from then on, and the next save sends anew what
 * it needs of it. The pack stays where it is, since it may be the way to it that is damaged, and
 * for what is whole in it. `reprieve verify --repair` takes it back where the pack is whole.
 */
/* All block. `pack`: relative to the job, as in a manifest: "packs/000001/...". */

/* Lists what is set aside; the storage remembers it. */
int pack_aside_list(struct storage *storage, struct cancel *cancel, struct err *err);
/* By that listing. Does not block. */
bool pack_aside_has(const struct storage *storage, const char *pack);
int pack_aside_put(struct storage *storage, const char *pack, struct cancel *cancel,
		   struct err *err);
/* Of a pack in which reading has found damage (fetching.h): reads all of it once more, and sets
 * it aside if that is not whole, as well as it can. A store that cannot be written to is read again
 * the next time. */
void pack_aside_note(struct storage *storage, const char *pack, struct cancel *cancel);

/* Puts back what is whole of the packs that are set aside, and removes those that `is_needed`,
 * which is asked by the pack's key, says no of. *back: so many were put back. */
int pack_aside_sort_out(struct storage *storage, bool (*is_needed)(void *arg, const char *pack),
			void *arg, uint32_t *back, struct cancel *cancel, struct err *err);

#endif
