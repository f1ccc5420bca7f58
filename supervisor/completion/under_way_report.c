#include "under_way_report.h"

#include "base/text.h"
#include "detector.h"

/* After a list that took longer than this, the next one waits this many times as long as that. */
#define SLOW_MS 10
#define PAUSE_TIMES 2

static bool are_equal(char *const *a, char *const *b)
{
	while (a && *a && text_equal(*a, *b))
		a++, b++;
	return a && !*a && !*b;
}

void under_way_report_release(struct under_way_report *report)
{
	path_list_free(report->paths);
}

bool under_way_report_is_due(struct under_way_report *report, const struct detector *detector,
			     int64_t now_ms, bool at_once)
{
	char **paths = detector_list(detector, detector_each_under_way);

	report->changed = !are_equal(report->paths, paths);
	if (!report->changed || (!at_once && now_ms < report->next_ms)) {
		path_list_free(paths);
		return false;
	}
	report->changed = false;
	path_list_free(report->paths);
	report->paths = paths;
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
