/*
 * PURE. What is known of each checkpoint, for `reprieve status --checkpoints`.
 */
#ifndef CHECKPOINT_REPORT_H
#define CHECKPOINT_REPORT_H

#include "detector.h"

#include <jansson.h>

/*
 * A list, the newest first; the caller owns it. Each object has:
 *
 *	checkpoint	its directory "run/checkpoint-500/", or "run/#160" for the files in run/
 *			that have this number, or "(fixed names)"
 *	verdict		"under way", "complete" or "torn"
 *	reason, why	verdict_reason_name() and verdict_reason_text()
 *	step		-1: unknown
 *	files		how many it has
 *	missing		files that the complete ones before had and it has not; of one that is not
 *			complete
 *	open		paths that are open for writing; of many, some
 *	incomplete	paths whose content or layout lacks something, or whose writer died; of
 *			many, some
 */
json_t *checkpoint_report(const struct detector *detector);

#endif
