#include "tracker_timing.h"

#include "base/clock.h"

bool tracker_pace_tells(struct tracker_pace *pace, uint64_t generation, int64_t now_ms)
{
	if (generation == pace->done_generation || now_ms - pace->told_ms < TRACKER_PACE_TELL_MS)
		return false;
	pace->told_ms = now_ms;
	return true;
}

void tracker_pace_is_done(struct tracker_pace *pace, uint64_t generation)
{
	pace->done_generation = generation;
}

int64_t tracker_pace_next(const struct tracker_pace *pace, enum sealing_verdict verdict,
	int64_t at_ms, uint64_t generation, bool watched, int64_t now_ms)
{
	if (verdict == SEALING_NOTHING && watched)
		return CLOCK_NEVER;
	if (at_ms > now_ms + TRACKER_PACE_LOOK_MS)
		at_ms = now_ms + TRACKER_PACE_LOOK_MS;
	if (verdict == SEALING_BUSY && at_ms > now_ms + TRACKER_PACE_TELL_MS &&
		generation != pace->done_generation)
		at_ms = now_ms + TRACKER_PACE_TELL_MS;
	return at_ms;
}
