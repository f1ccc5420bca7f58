/*
 * PRIVATE. A member of a gang: what gang_start.h leaves to the caller, which is to claim and to
 * restore. And of resume.c what it needs for that.
 */
#ifndef RESUME_GANG_H
#define RESUME_GANG_H

#include "resume.h"

/* All restore before the job starts anywhere. Blocks until they have. */
int resume_gang(const struct resume_request *request, struct resume_result *result,
		struct cancel *cancel, struct err *err);
/* This machine cannot be a member, which is no reason for the others to wait: they are told. Does
 * nothing without a gang. */
void resume_refuse_gang(const struct resume_request *request, struct resume_result *result,
			const char *reason);

/* --- resume.c --- */

/* `after`: only as the attempt behind this one (a gang), else ERR_UNFIT; NULL: whatever is free. */
int resume_claim(const struct resume_request *request, struct resume_result *result,
		 const uint32_t *after, struct cancel *cancel, struct err *err);
/* `nonce`: not NULL: another member of a gang may have it that is about to start here too, which
 * has its mark there: then it succeeds without a lock. */
int resume_lock_directory(const struct resume_request *request, struct resume_result *result,
			  const char *nonce, struct cancel *cancel, struct err *err);
/* Those that the claim has passed over. */
void resume_note_all_damaged(struct resume_result *result);

#endif
