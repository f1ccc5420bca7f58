/*
 * PURE. Decides what to do with a checkpoint directory that is not empty when a job starts. It may
 * hold a newer complete checkpoint than the store (a requeue on the same node), an older one (a
 * machine that returns), torn files (a kill during a save), or files that have nothing to do with
 * us.
 */
#ifndef RECONCILE_H
#define RECONCILE_H

#include "storage/storage.h"

#include <stdbool.h>
#include <stddef.h>

enum reconcile_action {
	/* nothing here and nothing in the store */
	RECONCILE_FRESH,
	/* the local files stay; those in `torn` are moved aside */
	RECONCILE_KEEP,
	/* the snapshot replaces the local files, which are reused by content or moved aside */
	RECONCILE_RESTORE,
};

struct reconcile_facts {
	const struct snapshot_files *local;
	const struct snapshot_files *snapshot; /* the files of `start`; NULL: there is none */
	struct snapshot_id start;              /* the attempt starts from it; may be none */
	/* the files that the last supervisor here recorded as complete; NULL: no record */
	const struct snapshot_files *complete;
	struct snapshot_id complete_id; /* attempt and sequence of that record */
};

struct reconcile_plan {
	enum reconcile_action action;
	bool newer_than_store; /* KEEP: the local checkpoint is not committed yet */
	char **torn;           /* KEEP: paths to move aside; owned */
	size_t torn_count;
	bool prune; /* KEEP: empty directories are remains of an interrupted save: remove them */
	const char *reason; /* for the log; static */
};

void reconcile_decide(const struct reconcile_facts *facts, struct reconcile_plan *plan);
void reconcile_plan_release(struct reconcile_plan *plan);

#endif
