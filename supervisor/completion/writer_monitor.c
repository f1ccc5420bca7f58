#include "writer_monitor.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "monitor/monitor.h"
#include "process/process.h"
#include "workspace/workspace.h"

#include <stdlib.h>
#include <sys/wait.h>

/* Time between two searches: this long, but at least SCAN_SHARE times as long as the last search
 * took. */
#define SCAN_EVERY_MS 100
#define SCAN_SHARE 20

struct writer_monitor {
	struct writer_monitor_options options;
	struct exit_watch *exit_watch;
	struct recent_writers recent;
	int64_t next_ms; /* no search before this time */
	bool warned;
	/* at this generation an unknown process had a file open, and was searched for */
	uint64_t unknown_holder_generation;
};

static void drain_events(struct writer_monitor *monitor)
{
	monitor->options.drain(monitor->options.arg);
}

/* The shim is in it, and reports what it closes. The detector forgets that between two saves. */
static bool speaks(const struct writer_monitor *monitor, const struct writer *writer)
{
	return writer->speaks || recent_writers_has(&monitor->recent, writer->pid);
}

/* --- how they end --- */

static void process_ended(struct writer_monitor *monitor, pid_t pid, enum writer_end end)
{
	drain_events(monitor); /* its last reports were queued before it ended */
	detector_process_ended(monitor->options.detector, pid, end, clock_monotonic_ms());
	recent_writers_forget(&monitor->recent, pid);
}

static enum writer_end end_of_status(int wait_status)
{
	if (WIFSIGNALED(wait_status))
		return WRITER_END_KILLED;
	return WEXITSTATUS(wait_status) == 0 ? WRITER_END_EXITED : WRITER_END_FAILED;
}

void writer_monitor_process_ended(struct writer_monitor *monitor, pid_t pid, int wait_status)
{
	process_ended(monitor, pid, end_of_status(wait_status));
}

/* Its exit status is unknown. Files that it closed itself count as whole; files that its end has
 * closed do not. */
static enum writer_end guess_writer_end(struct writer_monitor *monitor, pid_t pid)
{
	const struct writer *writer =
		writer_table_find(&monitor->options.detector->writers, (int)pid);

	if (!writer || speaks(monitor, writer))
		return WRITER_END_UNKNOWN;
	if (writer->closed)
		return WRITER_END_EXITED;
	if (!monitor->warned)
		log_warn("process %d (not preloaded) ended while it wrote %s: the files count as "
			 "incomplete, as its exit is unknown",
			 (int)pid, monitor->options.directory);
	monitor->warned = true;
	return WRITER_END_UNKNOWN;
}

static void watched_writer_ended(void *arg, pid_t pid, int wait_status)
{
	struct writer_monitor *monitor = arg;

	process_ended(monitor, pid,
		      wait_status == -1 ? guess_writer_end(monitor, pid)
					: end_of_status(wait_status));
	monitor->options.told(monitor->options.arg);
}

void writer_monitor_scan_dead(struct writer_monitor *monitor)
{
	for (pid_t pid; (pid = recent_writers_take_gone(&monitor->recent)) > 0;)
		process_ended(monitor, pid, WRITER_END_UNKNOWN);
}

/* --- life --- */

struct writer_monitor *writer_monitor_new(const struct writer_monitor_options *options)
{
	struct writer_monitor *monitor = memory_new(sizeof(*monitor));

	monitor->options = *options;
	monitor->exit_watch = exit_watch_new(options->loop, watched_writer_ended, monitor);
	return monitor;
}

void writer_monitor_free(struct writer_monitor *monitor)
{
	if (!monitor)
		return;
	exit_watch_free(monitor->exit_watch);
	free(monitor);
}

/* --- who writes --- */

void writer_monitor_add(struct writer_monitor *monitor, pid_t pid)
{
	if (recent_writers_note(&monitor->recent, pid, clock_monotonic_ms()))
		(void)exit_watch_add(monitor->exit_watch, pid);
}

const struct recent_writers *writer_monitor_recent(const struct writer_monitor *monitor)
{
	return &monitor->recent;
}

static void holder_found(void *arg, pid_t pid, const char *path)
{
	struct writer_monitor *monitor = arg;

	(void)path;
	/* Whose end nobody will tell is no help. */
	if (exit_watch_add(monitor->exit_watch, pid))
		detector_writer_seen(monitor->options.detector, pid);
}

static void search(struct writer_monitor *monitor, int64_t now_ms)
{
	int64_t took_ms;

	if (now_ms < monitor->next_ms)
		return;
	open_files_find_holders(monitor->options.directory, holder_found, monitor);
	took_ms = clock_monotonic_ms() - now_ms;
	monitor->next_ms = now_ms + took_ms + SCAN_EVERY_MS;
	if (took_ms * SCAN_SHARE > SCAN_EVERY_MS)
		monitor->next_ms = now_ms + took_ms * SCAN_SHARE;
}

void writer_monitor_scan_soon(struct writer_monitor *monitor)
{
	monitor->next_ms = 0;
}

void writer_monitor_file_closed(struct writer_monitor *monitor)
{
	const struct writer_table *writers = &monitor->options.detector->writers;

	for (size_t i = 0; i < writers->process_count; i++) {
		struct writer *writer = &writers->processes[i];

		/* A process that has begun to exit may have left the close to the kernel. */
		if (!writer->closed && !speaks(monitor, writer))
			writer->closed =
				!open_files_is_holder(monitor->options.directory, writer->pid) &&
				open_files_is_running(writer->pid);
	}
}

/* --- is anybody left? --- */

static void set_flag(void *arg, pid_t pid, const char *path)
{
	(void)pid, (void)path;
	*(bool *)arg = true;
}

/* False: nobody on this machine has it open for writing. If the file system does not tell that,
 * only our descendants are searched. */
static bool may_be_held(const struct writer_monitor *monitor, const char *relative)
{
	auto_free char *path = text_format("%s/%s", monitor->options.directory, relative);
	enum open_files_state word = open_files_query_file(path);
	bool any = word == OPEN_FILES_OPEN;

	if (word == OPEN_FILES_UNKNOWN)
		open_files_find_holders(monitor->options.directory, set_flag, &any);
	return any;
}

/* The kernel reports no more writes to the untracked files. Does a process still have one of them
 * open? */
static void check_for_holders(struct writer_monitor *monitor, int64_t now_ms)
{
	struct detector *detector = monitor->options.detector;
	uint64_t generation = detector->generation;
	char **list = detector_list_marked(detector, FILE_UNCLOSED);
	bool any_held = false;

	for (char **path = list; *path && detector->generation == generation; path++) {
		if (may_be_held(monitor, *path)) {
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
		monitor->next_ms = 0;
		search(monitor, now_ms);
	}
	path_list_free(list);
}

void writer_monitor_scan(struct writer_monitor *monitor)
{
	int64_t now = clock_monotonic_ms();

	if (!detector_has_untracked(monitor->options.detector))
		return;
	search(monitor, now);
	if (detector_waits_for_untracked(monitor->options.detector, now))
		check_for_holders(monitor, now);
}
