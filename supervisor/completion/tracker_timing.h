/* PURE. When the tracker polls again, and when it reports the closed files of a checkpoint that is
 * still being written. All times are milliseconds of CLOCK_MONOTONIC. */
#ifndef TRACKER_TIMING_H
#define TRACKER_TIMING_H

#include "detector.h"

#include <stdbool.h>
#include <stdint.h>

/* Polling period for changes that cause no event: the directory appears, an unobserved writer
 * dies. */
#define TRACKER_TIMING_POLL_MS 1000
/* Shortest time between two reports of closed files. */
#define TRACKER_TIMING_REPORT_MS 200

/* Zero-initialise. */
struct tracker_timing {
	/* everything written up to this generation has been reported */
	uint64_t done_generation;
	/* time of the last report */
	int64_t reported_ms;
};

/* Is a report of closed files due at this generation (detector_generation())? If so, `now_ms` is
 * noted as the time of the report. */
bool tracker_timing_reports_due(struct tracker_timing *timing, uint64_t generation, int64_t now_ms);
/* The receiver of the reports has all of this generation: no more reports until the next write. */
void tracker_timing_set_done(struct tracker_timing *timing, uint64_t generation);

/* When to poll again after detector_poll() returned `verdict` and `at_ms`; CLOCK_NEVER: at the next
 * event. `watched`: the directory exists and is being watched. */
int64_t tracker_timing_next(const struct tracker_timing *timing, enum detector_verdict verdict,
			    int64_t at_ms, uint64_t generation, bool watched, int64_t now_ms);

#endif
