/* PRIVATE to storage/. The commit of a gang's snapshot: each member puts its part, and whoever has
 * put the last one puts the manifest. */
#ifndef GANG_COMMIT_H
#define GANG_COMMIT_H

#include "storage/records/records.h"

enum gang_outcome {
	GANG_COMMITTED,
	/* The same files, in the part that an earlier call for this round has put: it may name
	 * other packs. */
	GANG_COMMITTED_EARLIER,
	/* With the part that an earlier call for this round has put, which has other files: they
	 * are in the snapshot, and what was to be saved is not. */
	GANG_COMMITTED_OTHER,
	/* Another member has left it out: it never will be a snapshot. */
	GANG_ROUND_OVER,
	/* The parts of all are there, and never will be a snapshot. */
	GANG_PARTS_UNFIT,
};

/*
 * Puts the part, and waits until the snapshot of the round, which is request->id, is committed, by
 * whoever sees all parts first. The last three outcomes come with ERR_RETRY and -1. After any other
 * error (-1, GANG_COMMITTED) it is not known whether the round will be committed.
 */
int gang_commit(struct storage *storage, const struct save_request *request,
		const struct manifest *part, enum gang_outcome *outcome, struct cancel *cancel,
		struct err *err);

/*
 * Before a member saves for `next`. If its last save has ended without knowing what became of its
 * round, this looks: a snapshot that was committed after all is what the next part builds upon. Any
 * error is one of the store.
 */
int gang_commit_settle(struct storage *storage, struct snapshot_id next, struct cancel *cancel,
		       struct err *err);
/* The round is committed, and the index has what its part names. Removes the part. */
void gang_commit_settled(struct storage *storage, struct cancel *cancel);

#endif
