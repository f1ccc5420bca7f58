#include "writer_monitor.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "untracked_writers.h"
#include "workspace/workspace.h"

#include <stdlib.h>

struct writer_monitor {
	struct writer_monitor_options options;
	struct untracked *untracked;
	struct recent_writers recent;
	/* at this generation an unknown process had a file open, and was searched for */
	uint64_t unknown_holder_generation;
};

static void drain_events(struct writer_monitor *monitor)
{
	monitor->options.drain(monitor->options.arg);
}

void writer_monitor_process_ended(struct writer_monitor *monitor, pid_t pid, enum writer_end end)
{
	drain_events(monitor);
	detector_process_ended(monitor->options.detector, pid, end, clock_monotonic_ms());
	recent_writers_forget(&monitor->recent, pid);
	monitor->options.told(monitor->options.arg);
}

static void untracked_writer_ended(void *arg, pid_t pid, enum writer_end end)
{
	writer_monitor_process_ended(arg, pid, end);
}

static void on_writer_seen(void *arg, pid_t pid)
{
	struct writer_monitor *monitor = arg;

	detector_writer_seen(monitor->options.detector, pid);
}

struct writer_monitor *writer_monitor_new(const struct writer_monitor_options *options)
{
	struct writer_monitor *monitor = memory_new(sizeof(*monitor));

	monitor->options = *options;
	monitor->untracked = untracked_writers_new(&(struct untracked_writers_options){
		.loop = options->loop,
		.directory = options->directory,
		.on_writer_seen = on_writer_seen,
		.ended = untracked_writer_ended,
		.arg = monitor,
	});
	return monitor;
}

void writer_monitor_free(struct writer_monitor *monitor)
{
	if (!monitor)
		return;
	untracked_writers_free(monitor->untracked);
	free(monitor);
}

void writer_monitor_add(struct writer_monitor *monitor, pid_t pid)
{
	if (recent_writers_note(&monitor->recent, pid, clock_monotonic_ms()))
		untracked_writers_add(monitor->untracked, pid);
}

void writer_monitor_scan_soon(struct writer_monitor *monitor)
{
	untracked_writers_scan_soon(monitor->untracked);
}

void writer_monitor_file_closed(struct writer_monitor *monitor)
{
	untracked_writers_file_closed(monitor->untracked);
}

/* The kernel reports no more writes to the untracked files. Does a process still have one of them
 * open? */
static void check_for_holders(struct writer_monitor *monitor, int64_t now_ms)
{
	struct detector *detector = monitor->options.detector;
	uint64_t generation = detector->generation;
	struct path_list list = {.paths = memory_new(sizeof(char *))};
	bool any_held = false;

	detector_each_untracked(detector, path_list_add, &list);
	for (char **path = list.paths; *path && detector->generation == generation; path++) {
		char *one[] = {*path, NULL};

		if (untracked_writers_may_hold(monitor->untracked, one)) {
			any_held = true;
			continue;
		}
		/* The kernel queues the event of a close before it releases the file. So if the
		 * last holder closed its file just now, its event is drained here and changes the
		 * generation. */
		drain_events(monitor);
		if (detector->generation == generation)
			detector_all_closed(detector, *path);
	}
	if (any_held && monitor->unknown_holder_generation != generation) {
		/* Find the process while it lives: afterwards its exit status cannot be had. */
		monitor->unknown_holder_generation = generation;
		untracked_writers_scan_soon(monitor->untracked);
		untracked_writers_scan(monitor->untracked, now_ms);
	}
	path_list_free(list.paths);
}

void writer_monitor_scan(struct writer_monitor *monitor)
{
	int64_t now = clock_monotonic_ms();

	if (!detector_has_untracked(monitor->options.detector))
		return;
	untracked_writers_scan(monitor->untracked, now);
	if (detector_waits_for_untracked(monitor->options.detector, now))
		check_for_holders(monitor, now);
}

void writer_monitor_scan_dead(struct writer_monitor *monitor)
{
	for (pid_t pid; (pid = recent_writers_take_gone(&monitor->recent)) > 0;) {
		drain_events(monitor); /* its last reports were queued before it ended */
		detector_process_ended(monitor->options.detector, pid, WRITER_END_UNKNOWN,
				       clock_monotonic_ms());
	}
}

const struct recent_writers *writer_monitor_recent(const struct writer_monitor *monitor)
{
	return &monitor->recent;
}
