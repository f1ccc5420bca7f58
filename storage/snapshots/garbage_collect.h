/* PRIVATE: removes the packs that no manifest names (FORMAT.md, "Forgetting and collecting
 * garbage"). */
#ifndef GARBAGE_COLLECT_H
#define GARBAGE_COLLECT_H

#include "inventory.h"

/*
 * Removes a pack when no manifest names it, it is older than `age_ms` by the store's own clock, and
 * no save under way can rely on it. Blocks for one request per removed pack, 16 at a time. Nothing
 * is removed from a store that does not report when an object was put.
 *
 * `inventory` was read before, so its manifests are not read again; gone[i] means that its snapshot
 * i has been removed, or with `dry_run` would be. The packs are listed first and the manifests
 * after them: a pack of a manifest that is committed meanwhile is either named by that manifest or
 * missing from the list. What the store refuses to remove is added to `refused`. ERR_VERSION:
 * another version has written to this job, and nothing was removed.
 */
int garbage_collect_packs(struct storage *storage, const struct inventory *inventory,
			  const bool *gone, int64_t age_ms, bool dry_run,
			  struct garbage_result *result, struct forget_refusals *refused,
			  struct cancel *cancel, struct err *err);

/* PURE. A removal failed with `err`: the store refuses it, and it certainly has not happened. */
bool garbage_is_refusal(const struct err *err);
/* The removal of `key` failed with `err`. 0: the store refuses it, which is counted, and it goes on
 * with the others. -1: the store does not answer, or we are to stop. */
int garbage_note_refusal(struct forget_refusals *refused, const char *key, struct err *err);

#endif
