/* Why a member does not start, in one sentence. */
#ifndef START_END_H
#define START_END_H

#include "gang_start.h"

/* For START_STEP_END: -1, with ERR_INVALID. May read one record, and notes what is to stay in the
 * store. */
int start_end_explain(struct gang_start *start, const struct start_decision *decision,
		      struct cancel *cancel, struct err *err);

#endif
