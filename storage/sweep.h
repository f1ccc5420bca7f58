/* PRIVATE: packs that no manifest names. */
#ifndef SWEEP_H
#define SWEEP_H

#include "survey.h"

/*
 * As storage_sweep(). `survey` was made before, so that what it has read need not be read again; gone[i] (NULL: none) says that its
 * snapshot i is forgotten, or with `dry_run` would be. Order: packs are listed first, then manifests: every pack of a manifest that is
 * committed meanwhile is named by it, or was not in the list.
 */
int sweep_packs(struct storage *storage, const struct survey *survey, const bool *gone,
	int64_t age_ms, bool dry_run, struct sweep_result *result, struct cancel *cancel,
	struct err *err);

#endif
