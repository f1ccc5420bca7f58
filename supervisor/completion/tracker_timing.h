/* PURE. When the tracker looks again, and when it tells of closed files of a checkpoint that is still being written. Times are
 * monotonic milliseconds. */
#ifndef TRACKER_TIMING_H
#define TRACKER_TIMING_H

#include "detector.h"

#include <stdbool.h>
#include <stdint.h>

/* For what has no event of its own: a directory that appears, writers that die unseen. */
#define TRACKER_PACE_LOOK_MS 1000
/* Closed files are told of that often at most. */
#define TRACKER_PACE_TELL_MS 200

/* Zero-initialise. */
struct tracker_pace {
	uint64_t done_generation; /* nothing is left to tell of what was written up to it */
	int64_t told_ms;
};

/* Is it time to tell of what was closed up to that generation (sealing_generation())? If so, it counts as told now. */
bool tracker_pace_tells(struct tracker_pace *pace, uint64_t generation, int64_t now_ms);
/* Who was told wants no more of it until something is written. */
void tracker_pace_is_done(struct tracker_pace *pace, uint64_t generation);

/* When to look again after that verdict, which sealing_poll() gave with `at_ms`; CLOCK_NEVER where the next event is soon enough.
 * `watched`: the directory is there, and events come from it. */
int64_t tracker_pace_next(const struct tracker_pace *pace, enum sealing_verdict verdict,
	int64_t at_ms, uint64_t generation, bool watched, int64_t now_ms);

#endif
