/* PURE. When the tracker looks again, and when it tells of closed files of a checkpoint that is
 * still being written. Times are monotonic milliseconds. */
#ifndef TRACKER_TIMING_H
#define TRACKER_TIMING_H

#include "detector.h"

#include <stdbool.h>
#include <stdint.h>

/* For what has no event of its own: a directory that appears, writers that die unseen. */
#define TRACKER_TIMING_POLL_MS 1000
/* Closed files are told of that often at most. */
#define TRACKER_TIMING_REPORT_MS 200

/* Zero-initialise. */
struct tracker_timing {
	uint64_t done_generation; /* nothing is left to tell of what was written up to it */
	int64_t reported_ms;
};

/* Is it time to tell of what was closed up to that generation (detector_generation())? If so, it
 * counts as told now. */
bool tracker_timing_reports_due(struct tracker_timing *timing, uint64_t generation, int64_t now_ms);
/* Who was told wants no more of it until something is written. */
void tracker_timing_set_done(struct tracker_timing *timing, uint64_t generation);

/* When to look again after that verdict, which detector_poll() gave with `at_ms`; CLOCK_NEVER where
 * the next event is soon enough. `watched`: the directory is there, and events come from it. */
int64_t tracker_timing_next(const struct tracker_timing *timing, enum detector_verdict verdict,
			    int64_t at_ms, uint64_t generation, bool watched, int64_t now_ms);

#endif
