/* PURE. What the findings of a content check (content_check.h) mean for a write burst. */
#ifndef CONTENT_VERDICT_H
#define CONTENT_VERDICT_H

#include "content_check.h"
#include "write_burst.h"

/*
 * How long a finding postpones the verdict, counted from the last write to its path. An incomplete
 * file may still be finished: some saves pause between files, and some writers are not observed.
 * After this time the path is rejected, and the rest counts as complete. A path that breaks a
 * layout rule (a marker is missing) gets longer than a file that fails its format check.
 */
#define CONTENT_VERDICT_FORMAT_MS 30000
#define CONTENT_VERDICT_MARKER_MS 600000

/* Milliseconds until the patience with every finding has run out, if nothing is written meanwhile;
 * 0: it has. An abandoned checkpoint gets none. */
int64_t content_verdict_wait_ms(const struct findings *findings);

/* Marks the findings' paths as rejected and every other unchecked path as checked. False: every
 * path of the burst is torn or rejected, so that there is nothing to save. */
bool content_verdict_apply(struct write_burst *burst, const struct findings *findings);

#endif
