/* What the tracker tells besides verdicts: what is closed, running, under way or stuck. */
#include "base/clock.h"
#include "base/log.h"
#include "tracker_state.h"

#define STUCK_SAVE_WARN_MS 30000

void tracker_report_closed_files(struct tracker *tracker)
{
	uint64_t generation = tracker->detector.generation;
	int64_t now_ms = clock_monotonic_ms();

	if (!detector_is_busy(&tracker->detector) || generation == tracker->reported_generation ||
	    now_ms - tracker->reported_ms < TRACKER_REPORT_MS)
		return;
	tracker->reported_ms = now_ms;
	if (!tracker->options.closed || tracker->options.closed(tracker->options.arg))
		tracker->reported_generation = generation;
}

void tracker_report_running_files(struct tracker *tracker)
{
	uint64_t generation = tracker->detector.running_generation;

	if (generation == tracker->reported_running || !tracker->started)
		return;
	tracker->reported_running = generation;
	if (tracker->options.on_running)
		tracker->options.on_running(tracker->options.arg, tracker->detector.running_path);
}

void tracker_report_under_way(struct tracker *tracker, bool at_once)
{
	int64_t now_ms = clock_monotonic_ms();

	if (!tracker->options.on_under_way ||
	    !under_way_report_is_due(&tracker->under_way, &tracker->detector, now_ms, at_once))
		return;
	tracker->options.on_under_way(tracker->options.arg);
	under_way_report_written(&tracker->under_way, now_ms, clock_monotonic_ms());
}

static void note_open_path(void *arg, const char *path)
{
	const char **name = arg;

	*name = path;
}

/* A file that stays open, or saves that follow each other too closely: then nothing is ever
 * complete, and that must be known. Warns once. */
void tracker_warn_if_stuck(struct tracker *tracker)
{
	int64_t now_ms = clock_monotonic_ms(), quiet_ms = tracker->options.quiet_ms, busy_ms;
	const char *open = NULL;

	if (!detector_is_busy(&tracker->detector)) {
		tracker->busy_since_ms = 0;
		return;
	}
	if (tracker->busy_since_ms == 0)
		tracker->busy_since_ms = now_ms;
	busy_ms = now_ms - tracker->busy_since_ms;
	if (tracker->warned_stuck || busy_ms < STUCK_SAVE_WARN_MS + 10 * quiet_ms)
		return;
	tracker->warned_stuck = true;
	detector_each_open(&tracker->detector, note_open_path, &open);
	if (open)
		log_warn("no complete checkpoint for %lld s: %s is still open for writing; if it "
			 "is written all the time, say so with --running '%s'",
			 (long long)busy_ms / 1000, open, open);
	else
		log_warn("no complete checkpoint for %lld s: the writes to %s never pause for "
			 "%.1f s; see --quiet-time",
			 (long long)busy_ms / 1000, tracker->options.workspace->directory,
			 (double)quiet_ms / 1000);
}
