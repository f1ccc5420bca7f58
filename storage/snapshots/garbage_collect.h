/* PRIVATE: packs that no manifest names. */
#ifndef GARBAGE_COLLECT_H
#define GARBAGE_COLLECT_H

#include "inventory.h"

/*
 * Removes packs that no manifest names, that are older than `age_ms` by the store's own clock, and
 * that no take under way can rely on (FORMAT.md). A store that does not say when an object was put
 * is left as it is. ERR_VERSION: a newer version has been here.
 *
 * `survey` was made before, so that what it has read need not be read again; gone[i] says that its
 * snapshot i is forgotten, or with `dry_run` would be. Order: packs are listed first, then
 * manifests: every pack of a manifest that is committed meanwhile is named by it, or was not in the
 * list.
 */
int garbage_collect_packs(struct storage *storage, const struct inventory *inventory,
			  const bool *gone, int64_t age_ms, bool dry_run,
			  struct garbage_result *result, struct cancel *cancel, struct err *err);

/* What time it is by the store's own clock: an object of now shows it. *now_ms 0:
 * the store does not tell. */
int garbage_collect_store_time(struct storage *storage, int64_t *now_ms, struct cancel *cancel,
			       struct err *err);

#endif
