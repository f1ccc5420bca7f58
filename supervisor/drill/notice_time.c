#include "notice_time.h"

int64_t notice_after_ms(int64_t chosen_ms)
{
	return chosen_ms == NOTICE_AFTER_UNSAID ? NOTICE_AFTER_MS : chosen_ms;
}

/* A line's first number may be a clock, and the names of its files are read at the end. */
static bool tells_pace(const struct job_counter *counter)
{
	return counter->kind != COUNTER_BARE && counter->kind != COUNTER_NAME && counter->count > 1;
}

bool notice_has_pace(const struct job_log *counts, const struct run_events *events)
{
	for (size_t i = 0; i < counts->count; i++)
		if (tells_pace(&counts->counters[i]))
			return true;
	return events->checkpoint_count > 1;
}

bool notice_is_due(int64_t chosen_ms, int64_t passed_ms, bool has_pace)
{
	return passed_ms >= notice_after_ms(chosen_ms) &&
	       (has_pace || chosen_ms != NOTICE_AFTER_UNSAID || passed_ms >= NOTICE_AFTER_MOST_MS);
}
