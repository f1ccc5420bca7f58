/*
 * Before the job starts: opens the store, claims an attempt, and puts the newest good checkpoint
 * into the checkpoint directory, unless it is there already. One blocking call, for a worker. It
 * logs what it decides.
 */
#ifndef RESUME_H
#define RESUME_H

#include "attempt_outcomes.h"
#include "base/cancel.h"
#include "base/err.h"
#include "frameworks/frameworks.h"
#include "gang/gang.h"
#include "predecessor_wait.h"
#include "storage/storage.h"
#include "workspace/workspace.h"

#include <jansson.h>
#include <stdbool.h>

struct event_log;

struct resume_request {
	const char *store;  /* URL */
	bool private_store; /* the default one: nobody has said that others may read it */
	const char *job;
	bool named; /* by the user or a scheduler; false: after its directory and command */
	enum restore_policy policy;
	struct snapshot_id this_one; /* for RESTORE_SPECIFIC */
	json_t *about; /* becomes the attempt's record; facts are added to it; borrowed */
	struct restart_rules rules;
	struct workspace *workspace;
	const struct profile *profile;        /* NULL: none was recognised */
	const struct file_patterns *patterns; /* the user's; NULL: none; borrowed */
	bool looks;                           /* checks the files, and moves torn ones aside */
	bool strict;                          /* plain http to another machine is an error */
	struct storage_transfer transfer;
	/* if the store does not know this job yet, do nothing and write nothing */
	bool if_known;
	bool says_place; /* ... but say where its checkpoints would be kept */
	/* By it a full store makes room; NULL: all snapshots stay. Borrowed. */
	const struct forget_policy *retention;
	bool takes_over;           /* also from an attempt that lives on this machine */
	bool claim_only;           /* the job is running: do not touch its directory */
	struct gang_identity gang; /* one of several machines: all claim and restore together */
	int64_t join_ms;           /* for the others to come, and to restore */
	enum gang_parts_choice parts;
	/* The command or the checkpoint directory is refused, for this reason: the other members
	 * are told, and nothing is claimed. "": neither is. */
	char refused[160];
};

enum resume_kind {
	RESUME_FRESH,
	RESUME_KEPT,
	RESUME_RESTORED
};

struct resume_result {
	struct predecessor predecessor;
	/* if it decides that the job is not started, nothing was claimed */
	struct attempt_outcomes attempt_outcomes;
	/* the caller owns storage and attempt, even if the call has failed */
	struct storage *storage;
	struct attempt attempt; /* number 0: not claimed */
	enum resume_kind kind;
	/* RESTORED and KEPT: the job resumes from it; none: local files that no snapshot has */
	struct snapshot_id from;
	int64_t step;        /* of that checkpoint; -1: unknown */
	bool any_checkpoint; /* it has one, and not only running files */
	bool in_use;         /* failed, because another run uses the checkpoint directory */
	/* failed, because the attempt before this one lives on this machine */
	bool runs_here;
	/* failed, because the directory, or both places of our folder, are another user's */
	bool directory_refused;
	/* The store is full, or does not answer, for this reason: nothing is claimed, and the job
	 * starts all the same from what is there. Another call with `claim_only` claims, once it
	 * can. */
	bool no_room, no_answer;
	struct err full;
	struct snapshot_id here; /* no_answer: what the record says that lies here; may be none */
	/* failed, because there are snapshots, and not one of them can be resumed from */
	bool all_damaged;
	/* failed, because the other members of the gang have not come in time */
	bool waited_in_vain;
	bool newer_than_store; /* the local checkpoint has to be uploaded at once */
	struct restore_result restored;
	int64_t milliseconds; /* time of the restore */
	/* what was learned of this job's checkpoints (completion/tracker.h), from the snapshot that
	 * the attempt starts from; NULL: nothing; owned */
	json_t *signatures;
	/* what lies in the directory from before; empty if all is restored; owned */
	struct path_list existing;
	json_t *hosts; /* of all members of the gang, in their order; owned */
	/* Of the members that have this checkpoint directory one restores and saves it. If it is
	 * this one: which others it does so for, in the order of the members; NULL: none; owned. */
	bool kept_by_other;
	uint32_t keeper;
	bool *sharers;
	/* damaged snapshots that were skipped while claiming and restoring; owned */
	struct damaged_snapshot *passed_over;
	size_t passed_over_count;
};

/* -1 with ERR_INVALID, ERR_DENIED, ERR_NOT_FOUND or ERR_VERSION: the configuration is wrong. With
 * any other kind, another start may succeed. `result` must be zeroed or released. */
int resume_run(const struct resume_request *request, struct resume_result *result,
	       struct cancel *cancel, struct err *err);
/* May the same call succeed later, because a store that could not be reached answers then? */
bool resume_may_answer_later(const struct err *err);
/* Logs what earlier attempts mean for this one. True: the job is not started. */
bool resume_log_decision(const struct resume_request *request, const struct resume_result *result,
			 struct event_log *events);
/* ": ...": what to do where the directory is in use (resume_result). */
const char *resume_way_out_of_use(const struct resume_request *request);
/* Logs what was claimed and restored, if anything was: in one line where the job starts from. */
void resume_log(const struct resume_request *request, const struct resume_result *result,
		struct event_log *events);
void resume_result_release(struct resume_result *result);

#endif
