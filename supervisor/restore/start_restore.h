/* Restores the snapshot that the attempt starts from into the checkpoint directory. */
#ifndef START_RESTORE_H
#define START_RESTORE_H

#include "resume.h"

/*
 * `newer_step`: of what lies here and is newer than that snapshot (reconcile.h); -1: nothing is.
 *
 * 0 with result->kind RESTORED; or with another item of result->passed_over: some damage shows only
 * when every byte is read, then nothing is restored, and another snapshot must be claimed.
 *
 * If all that there are to choose from are damaged (attempt.start_is_damaged), it is tried all the
 * same, because what lies here may have the lost chunks, and then without what is damaged, if
 * salvage.h allows it. -1 with result->all_damaged: neither will do.
 */
int start_restore(const struct resume_request *request, struct resume_result *result,
		  int64_t newer_step, struct cancel *cancel, struct err *err);

#endif
