/*
 * PURE. What to do with a checkpoint directory that is not empty when a job starts: it may hold a
 * newer complete checkpoint than the store (a requeue on the same node), an older one (a machine
 * that comes back), torn files (a kill in mid-save), or files that have nothing to do with us.
 */
#ifndef RECONCILE_H
#define RECONCILE_H

#include "storage/storage.h"

#include <stdbool.h>
#include <stddef.h>

enum reconcile_action {
	/* nothing here and nothing in the store */
	RECONCILE_FRESH,
	/* what is here is good; `torn` is moved aside */
	RECONCILE_KEEP,
	/* the snapshot takes its place; what is here is moved aside, or used as seed */
	RECONCILE_RESTORE,
};

struct reconcile_facts {
	const struct snapshot_files *local;
	const struct snapshot_files *snapshot; /* of `start`; NULL when there is none */
	struct snapshot_id start;              /* what the attempt starts from; none */
	/* what the last supervisor here knew to be complete; NULL without a record */
	const struct snapshot_files *complete;
	struct snapshot_id complete_id; /* attempt and sequence of that */
};

struct reconcile_plan {
	enum reconcile_action action;
	bool newer_than_store; /* KEEP: what is here is not committed yet */
	char **torn;           /* KEEP: paths to move aside; owned */
	size_t torn_count;
	bool prune; /* KEEP: directories without files are remains of a save that did not get far */
	const char *reason; /* for the log; static */
};

void reconcile_decide(const struct reconcile_facts *facts, struct reconcile_plan *plan);
void reconcile_plan_release(struct reconcile_plan *plan);

#endif
