/*
 * Before the job starts: open the store, claim the attempt, and have the newest good checkpoint lie
 * in the checkpoint directory, whether it is fetched or was here already. One blocking call for a
 * worker; it logs what it decides.
 */
#ifndef RESUME_H
#define RESUME_H

#include "attempt_outcomes.h"
#include "base/cancel.h"
#include "base/err.h"
#include "frameworks/frameworks.h"
#include "predecessor_wait.h"
#include "storage/storage.h"
#include "workspace/workspace.h"

#include <jansson.h>
#include <stdbool.h>

struct resume_request {
	const char *store; /* URL */
	const char *job;
	enum restore_policy policy;
	struct snapshot_id this_one; /* for RESTORE_SPECIFIC */
	json_t *about; /* for the attempt's record, which attempt_outcomes.h adds to; borrowed */
	struct restart_rules rules;
	struct workspace *workspace;
	const struct profile *profile; /* NULL: none was recognised */
	bool looks;                    /* into the files, and moves aside what is torn */
	bool strict;                   /* damage that leaves nothing to resume from is an error */
	struct storage_transfer transfer;
	/* only where the store has this job already; otherwise nothing is done,
	 * and nothing is left behind */
	bool if_known;
	bool claim_only; /* the job runs already: its directory is not touched */
};

enum resume_kind {
	RESUME_FRESH,
	RESUME_KEPT,
	RESUME_RESTORED
};

struct resume_result {
	struct predecessor predecessor;
	/* its ruling may be that the job is not to be started: then nothing was claimed */
	struct attempt_outcomes attempt_outcomes;
	struct storage *storage; /* owned by the caller from then on, also when the call fails */
	struct attempt attempt;  /* likewise; number 0 when it was not claimed */
	enum resume_kind kind;
	/* RESTORED and KEPT: what the job goes on from; none: not known to the store */
	struct snapshot_id from;
	int64_t step;          /* of that; -1 unknown */
	bool in_use;           /* it failed because another run uses the checkpoint directory */
	bool newer_than_store; /* KEPT: what lies here is to be saved at once */
	struct restore_result restored;
	int64_t milliseconds;                 /* the restore took */
	struct damaged_snapshot *passed_over; /* while claiming and while restoring; owned */
	size_t passed_over_count;
};

/* The kind of the error tells who is to blame: INVALID, DENIED, NOT_FOUND, NEWER
 * are the configuration. */
int resume_run(const struct resume_request *request, struct resume_result *result,
	       struct cancel *cancel, struct err *err);
void resume_result_release(struct resume_result *result);

#endif
