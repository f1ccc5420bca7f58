/*
 * Of this folder only: a start on its way through resume.c (the order, and the claim),
 * resume_gang.c (the same for a member of a gang), place_checkpoint.c (which checkpoint the job
 * finds) and start_restore.c (a restore into the checkpoint directory). The functions block.
 */
#ifndef START_H
#define START_H

#include "reconcile.h"
#include "restore.h"

struct start {
	const struct resume_request *request;
	enum restore_policy policy; /* that of the options, unless it has counted already */
	struct resume_result *result;
	struct workspace *workspace; /* that of the request */
	struct cancel *cancel;

	/* Of place_checkpoint.c: what lies in the directory, and what the last supervisor here
	 * left. */
	struct snapshot_files local;
	struct snapshot_files snapshot; /* of the one that the attempt starts from */
	struct completion_record record;
	struct path_list moved, under_way;
	struct path_set whole; /* by their format */
	/* An earlier start has left them, of whatever job: there is a record. */
	bool of_earlier_start;
	struct reconcile_facts facts; /* borrows from the above */
	struct reconcile_plan plan;
};

/* --- resume.c --- */

/* `after`: only as the attempt behind this one (a gang), else ERR_UNFIT; NULL: whatever is free. */
int resume_claim(struct start *start, const uint32_t *after, struct err *err);
/* `nonce`: not NULL: another member of a gang may have it that is about to start here too, which
 * has its mark there: then it succeeds without a lock. */
int resume_lock_directory(struct start *start, const char *nonce, struct err *err);
/* Adds to result->passed_over, and warns. */
void resume_note_damaged(struct resume_result *result, struct snapshot_id id, const char *why);
/* Those that the claim has passed over. */
void resume_note_all_damaged(struct resume_result *result);
/* An attempt is over before its job was launched. A failure is for the debug log. */
void resume_end_attempt(struct start *start, uint32_t number, const char *outcome);
/* -1. A snapshot that the user has named is damaged at each start: if that is what has failed, the
 * error becomes ERR_INVALID and says which one to name. Any other error stays. Blocks: it lists. */
int resume_refuse_named(struct start *start, struct err *err);

/* --- resume_gang.c --- */

/* What gang_start.h leaves to the caller: to claim and to restore. All restore before the job
 * starts anywhere. Blocks until they have. */
int resume_gang(struct start *start, struct err *err);
/* This machine cannot be a member, which is no reason for the others to wait: they are told. Does
 * nothing without a gang. */
void resume_refuse_gang(struct start *start, const char *reason);

/* --- place_checkpoint.c --- */

/* Puts the snapshot of result->attempt.start into place, or keeps what lies there (reconcile.h),
 * and fills `kind`, `from` and what belongs to them. If the snapshot turns out to be damaged,
 * nothing is restored, and resume_note_damaged() is called. */
int place_checkpoint(struct start *start, struct err *err);
/* Records all files in the directory as complete; `record`, which is zeroed, is the caller's. */
int place_record_files(struct start *start, struct snapshot_id id, struct completion_record *record,
		       struct err *err);
/*
 * Records the files that are there before the job starts as complete: the job goes on from them.
 * The record also says which attempt was here last, so that the files of an older one lose to the
 * store. The first checkpoint of this attempt has the same number and replaces the record. Best
 * effort: if the record cannot be written, the first save reports it.
 */
void place_record_existing(struct start *start);

/*
 * PURE. Whether a checkpoint that some machines have saved can be read by another number of them:
 * by the names of its files, and by who has them.
 */

struct resharding {
	/* Every machine reads it, if it has the files of all. */
	bool fits;
	/* Why it does not; a clause. */
	char why[320];
};

/*
 * It fits if each file is
 *	- in a checkpoint of a kind that is resharded (profile.resharded): its marker is there, at
 *	  whichever member;
 *	- or the state of one rank that does without it (profile.by_rank);
 *	- or a running file;
 *	- or of one member that alone has files other than these, which are not those of several
 *	  ranks ("rank1.pt"); what others have as well, with the same content, counts as its own.
 * Files of one name and different content do not fit, but for running files.
 */
struct resharding resharding_judge(const struct gang_files *files);

/* The files of one member are part of such a checkpoint: even with as many machines as before each
 * needs the files of all, because what all ranks have alike is saved by one of them. */
bool resharding_needs_all(const struct snapshot_files *own);

/* --- quarantine.c --- */

/* Moves files aside that are torn by their format, or by the rules of the profile. Does nothing if
 * the user wants no such look, or the directory is not there. Files that are no part of a
 * checkpoint (file_patterns_kind()) stay. Logs which files it moves, and where to. Adds them to
 * `moved`, but not those that are moved with their whole directory. Adds to `whole` the files that
 * are whole by a format which records its end. */
int quarantine_torn(struct start *start, struct err *err);
/* Moves the torn files of the plan aside, and the symbolic links beside them that name them. Logs
 * why, and where to. */
int quarantine_files(const struct start *start, struct err *err);
/* The command that copies what lies in `where` back, for a shell. The caller frees. */
char *quarantine_command_back(const struct workspace *workspace, const char *where);

/* --- start_restore.c --- */

/*
 * 0 with result->kind RESTORED; or with another item of result->passed_over: some damage shows only
 * when every byte is read, then nothing is restored, and another snapshot must be claimed.
 *
 * If all that there are to choose from are damaged (attempt.start_is_damaged), it is tried all the
 * same, because what lies here may have the lost chunks, and then without what is damaged, if
 * salvage_decide() allows it. -1 with result->all_damaged: neither will do.
 */
int start_restore(struct start *start, struct err *err);

/*
 * A file that was written over, torn and moved aside leaves a gap: without it, a job that goes on
 * from the local files may begin from scratch. Puts back those of the files moved aside
 * (plan.torn, facts.moved) of which the snapshot has exactly what they were
 * (reconcile_may_put_back()), but for the rest of a checkpoint that was being deleted, and says so.
 * A failure is logged: the job starts without.
 */
void put_back_written_over(struct start *start);

/*
 * PURE. What of a damaged snapshot is left out so that the rest can be restored: its newest
 * checkpoint is whole, and files of others, or running files, are not. A checkpoint is left out as
 * a whole, never in part.
 *
 * Marks in `left_out`, which starts empty, what must not be restored: the `lost` files, and all
 * others of their checkpoints. False, with the sentence in *why (static) and the file in *path
 * (borrowed from `lost`): the rest would not do. It does if each lost file is a running one, or is
 * of a checkpoint whose name is certain (checkpoint_name.h) and of which each file has a newer one
 * of its kind that stays.
 */
bool salvage_decide(const struct snapshot_files *files, const struct path_list *lost,
		    const struct file_patterns *patterns, struct path_set *left_out,
		    const char **why, const char **path);

#endif
