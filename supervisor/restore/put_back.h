/*
 * A file that was written over, torn and moved aside leaves a gap: without it, a job that goes on
 * from the local files may begin from scratch. The snapshot that the attempt starts from may have
 * exactly what it was.
 */
#ifndef PUT_BACK_H
#define PUT_BACK_H

#include "reconcile.h"
#include "storage/storage.h"
#include "workspace/workspace.h"

/*
 * Puts back those of the files moved aside (plan->torn, facts->moved) of which the snapshot has
 * that (reconcile_may_put_back()), but for the rest of a checkpoint that was being deleted, and
 * says so. Blocks for the store. A failure is logged: the job starts without.
 */
void put_back_written_over(struct workspace *workspace, struct storage *storage,
			   const struct reconcile_facts *facts, const struct reconcile_plan *plan,
			   struct cancel *cancel);

#endif
