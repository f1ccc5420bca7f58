#include "tracker_timing.h"

#include "base/clock.h"

bool tracker_timing_reports_due(struct tracker_timing *timing, uint64_t generation, int64_t now_ms)
{
	if (generation == timing->done_generation ||
	    now_ms - timing->reported_ms < TRACKER_TIMING_REPORT_MS)
		return false;
	timing->reported_ms = now_ms;
	return true;
}

void tracker_timing_set_done(struct tracker_timing *timing, uint64_t generation)
{
	timing->done_generation = generation;
}

int64_t tracker_timing_next(const struct tracker_timing *timing, enum detector_verdict verdict,
			    int64_t at_ms, uint64_t generation, bool watched, int64_t now_ms)
{
	if (verdict == DETECTOR_NOTHING && watched)
		return CLOCK_NEVER;
	if (at_ms > now_ms + TRACKER_TIMING_POLL_MS)
		at_ms = now_ms + TRACKER_TIMING_POLL_MS;
	if (verdict == DETECTOR_BUSY && at_ms > now_ms + TRACKER_TIMING_REPORT_MS &&
	    generation != timing->done_generation)
		at_ms = now_ms + TRACKER_TIMING_REPORT_MS;
	return at_ms;
}
