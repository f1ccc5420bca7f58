/* Restores the snapshot that the attempt starts from into the checkpoint directory. */
#ifndef START_RESTORE_H
#define START_RESTORE_H

#include "reconcile.h"
#include "resume.h"

/*
 * `here`: what has to make room for it.
 *
 * 0 with result->kind RESTORED; or with another item of result->passed_over: some damage shows only
 * when every byte is read, then nothing is restored, and another snapshot must be claimed.
 *
 * If all that there are to choose from are damaged (attempt.start_is_damaged), it is tried all the
 * same, because what lies here may have the lost chunks, and then without what is damaged, if
 * salvage.h allows it. -1 with result->all_damaged: neither will do.
 */
int start_restore(const struct resume_request *request, struct resume_result *result,
		  const struct files_aside *here, struct cancel *cancel, struct err *err);

#endif
