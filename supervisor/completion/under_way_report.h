/*
 * PURE. When is the list of what is under way (detector_each_under_way()) reported? What was newly
 * begun must be known to the next start within milliseconds, whatever kills us: the list is
 * reported at once, and then not for a while as long as its writing took, so that a slow disk is
 * left in peace.
 */
#ifndef UNDER_WAY_REPORT_H
#define UNDER_WAY_REPORT_H

#include "workspace/workspace.h"

#include <stdbool.h>
#include <stdint.h>

struct detector;

/* Zero-initialise. */
struct under_way_report {
	/* what was reported last; NULL: nothing yet */
	char **paths;
	/* the list is another one now; it is reported at `next_ms` */
	bool changed;
	int64_t next_ms;
};

void under_way_report_release(struct under_way_report *report);
/* True: the caller writes `paths` now, and calls under_way_report_written(). `at_once`: there may
 * be no later time. Times are ms of CLOCK_MONOTONIC. */
bool under_way_report_is_due(struct under_way_report *report, const struct detector *detector,
			     int64_t now_ms, bool at_once);
void under_way_report_written(struct under_way_report *report, int64_t begun_ms, int64_t ended_ms);
/* When to ask again; INT64_MAX: after the next event. */
int64_t under_way_report_wakes_ms(const struct under_way_report *report);

#endif
