/* PRIVATE to storage/. The commit of a gang's snapshot: each member puts its part, and whoever sees
 * the parts of all puts the manifest. */
#ifndef GANG_COMMIT_H
#define GANG_COMMIT_H

#include "job_records.h"

/* Whether this process is one of several members. */
bool storage_is_member(const struct storage *storage);

/*
 * Before anything is read: a checkpoint without a step has nothing by which the members would know
 * that they save the same one (ERR_UNFIT). *durable: the gang's snapshot of this step is committed
 * already, as *id. ERR_UNFIT also if a later step is: they rise within an attempt.
 */
int gang_commit_check(struct storage *storage, const struct save_request *request,
		      struct snapshot_id *id, bool *durable, struct err *err);

/*
 * Puts the part, and waits until the gang's snapshot of that step is committed, as *id, by whoever
 * sees all parts first. *left_out, with ERR_RETRY: another member has no part of this step and is
 * at a later one, so it never will be committed.
 */
int gang_commit(struct storage *storage, const struct save_request *request,
		const struct manifest *part, struct snapshot_id *id, bool *left_out,
		struct cancel *cancel, struct err *err);

/* All of the manifest, or what this process is a member of; its entries are not loaded yet. */
int gang_commit_cut(struct storage *storage, struct manifest *manifest, struct err *err);

#endif
