#include "watcher.h"

#include "base/clock.h"
#include "base/text.h"

#include <string.h>

/* As a duration this would be 31 years, so it is a time. */
#define EPOCH_LEAST_SECONDS 1000000000u
/* The year 9999. */
#define EPOCH_MOST_SECONDS 253402300799u

bool deadline_parse(const char *text, int64_t now_wall_ms, int64_t *wall_ms, bool *is_span)
{
	uint64_t seconds;
	int64_t span;

	*is_span = false;
	if (text_to_u64(text, EPOCH_MOST_SECONDS, &seconds) && seconds >= EPOCH_LEAST_SECONDS) {
		*wall_ms = (int64_t)seconds * 1000;
		return true;
	}
	if (text_to_duration_ms(text, &span)) {
		*is_span = true;
		*wall_ms = now_wall_ms + span;
		return true;
	}
	return datetime_parse(text, wall_ms);
}

enum slurm_end slurm_end_parse(const char *shown, int64_t *wall_ms)
{
	const char *end = strstr(shown, " EndTime=");

	if (!text_starts(shown, "JobId=") || !end)
		return SLURM_END_UNREADABLE;
	end += strlen(" EndTime=");
	if (datetime_parse_local(end, wall_ms))
		return SLURM_END_KNOWN;
	return text_starts(end, "Unknown") ? SLURM_END_NEVER : SLURM_END_UNREADABLE;
}

int64_t deadline_fit_notice_ms(int64_t left_ms, int64_t wanted_ms)
{
	return left_ms > wanted_ms || left_ms <= 0 ? wanted_ms : left_ms / 4;
}

enum deadline_phase deadline_decide(int64_t left_ms, int64_t notice_ms, int64_t *wait_ms)
{
	*wait_ms = left_ms > notice_ms ? left_ms - notice_ms : 0;
	if (left_ms < -DEADLINE_STALE_MS)
		return DEADLINE_STALE;
	return *wait_ms > 0 ? DEADLINE_AHEAD : DEADLINE_NEAR;
}
