/* The part of resume_run() that touches the checkpoint directory. Blocks. */
#ifndef PLACE_CHECKPOINT_H
#define PLACE_CHECKPOINT_H

#include "resume.h"

/* Puts the snapshot of result->attempt.start into place, or keeps what lies there (reconcile.h),
 * and fills `kind`, `from` and what belongs to them. If the snapshot turns out to be damaged,
 * nothing is restored, and resume_note_damaged() is called. */
int place_checkpoint(const struct resume_request *request, struct resume_result *result,
		     struct cancel *cancel, struct err *err);

/*
 * Records the files that are there before the job starts as complete: the job goes on from them.
 * The record also says which attempt was here last, so that the files of an older one lose to the
 * store. The first checkpoint of this attempt has the same number and replaces the record. Best
 * effort: if the record cannot be written, the first save reports it.
 */
void place_record_existing(const struct resume_request *request, struct resume_result *result);

/* Of resume.c: adds to result->passed_over, and warns. */
void resume_note_damaged(struct resume_result *result, struct snapshot_id id, const char *why);
/* -1. A snapshot that the user has named is damaged at each start: if that is what has failed, the
 * error becomes ERR_INVALID and says which one to name. Any other error stays. Blocks: it lists. */
int resume_refuse_named(const struct resume_request *request, const struct resume_result *result,
			struct cancel *cancel, struct err *err);

#endif
