#include "under_way_report.h"

#include "detector.h"

/* After a list that took longer than this, the next one waits this many times as long as that. */
#define SLOW_MS 10
#define PAUSE_TIMES 2
/* A mark in `paths`. */
#define REPORTED 1u

struct comparison {
	const struct path_set *reported;
	size_t same;
	bool any_new;
};

static void compare_path(void *argument, const char *path)
{
	struct comparison *comparison = argument;
	bool same = path_set_marks(comparison->reported, path) & REPORTED;

	comparison->same += same;
	comparison->any_new |= !same;
}

static void mark_reported(void *argument, const char *path)
{
	path_set_mark(argument, path, REPORTED);
}

static bool has_changed(const struct under_way_report *report, const struct detector *detector)
{
	struct comparison comparison = {.reported = &report->paths};

	detector_each_under_way(detector, compare_path, &comparison);
	return !report->any_reported || comparison.any_new || comparison.same < report->paths.count;
}

void under_way_report_release(struct under_way_report *report)
{
	path_set_release(&report->paths);
}

bool under_way_report_is_due(struct under_way_report *report, const struct detector *detector,
			     int64_t now_ms, bool at_once)
{
	report->changed = has_changed(report, detector);
	if (!report->changed || (!at_once && now_ms < report->next_ms))
		return false;
	report->changed = false;
	report->any_reported = true;
	path_set_release(&report->paths);
	detector_each_under_way(detector, mark_reported, &report->paths);
	return true;
}

void under_way_report_written(struct under_way_report *report, int64_t begun_ms, int64_t ended_ms)
{
	int64_t took_ms = ended_ms - begun_ms;

	report->next_ms = ended_ms + (took_ms > SLOW_MS ? PAUSE_TIMES * took_ms : 0);
}

int64_t under_way_report_wakes_ms(const struct under_way_report *report)
{
	return report->changed ? report->next_ms : INT64_MAX;
}
