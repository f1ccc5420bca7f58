/*
 * Follows the processes that write to the checkpoint directory, and tells the detector how each of
 * them ends: only the exit status shows whether its files are whole. The shim tells of those that
 * it is in. The others (static programs, raw system calls, processes without LD_PRELOAD, and
 * children that write through inherited descriptors) are searched for: the kernel reports that a
 * file was written, but not by whom. So while a file is being written that no shim has reported,
 * the descriptors of our descendants are read in /proc.
 *
 * A writer without the shim that ends within milliseconds, before the search reaches it, stays
 * unknown.
 */
#include "tracker_state.h"

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

/* The shim is in it, and reports what it closes. The detector forgets that between two saves. */
static bool speaks(const struct tracker *tracker, const struct writer *writer)
{
	return writer->speaks || recent_writers_has(&tracker->recent, writer->pid);
}

/* --- how they end --- */

static void process_ended(struct tracker *tracker, pid_t pid, enum writer_end end)
{
	tracker_drain(tracker); /* its last reports were queued before it ended */
	detector_process_ended(&tracker->detector, pid, end, clock_monotonic_ms());
	recent_writers_forget(&tracker->recent, pid);
}

static enum writer_end end_of_status(int wait_status)
{
	if (WIFSIGNALED(wait_status))
		return WRITER_END_KILLED;
	return WEXITSTATUS(wait_status) == 0 ? WRITER_END_EXITED : WRITER_END_FAILED;
}

/* Its exit status is unknown. Files that it closed itself count as whole; files that its end has
 * closed do not. */
static enum writer_end guess_writer_end(struct tracker *tracker, pid_t pid)
{
	const struct writer *writer = writer_table_find(&tracker->detector.writers, (int)pid);

	if (!writer || speaks(tracker, writer))
		return WRITER_END_UNKNOWN;
	if (writer->closed)
		return WRITER_END_EXITED;
	if (!tracker->warned_unknown_end)
		log_warn("process %d (not preloaded) ended while it wrote %s: the files count as "
			 "incomplete, as its exit is unknown",
			 (int)pid, tracker->options.workspace->directory);
	tracker->warned_unknown_end = true;
	return WRITER_END_UNKNOWN;
}

void tracker_writer_ended(void *arg, pid_t pid, int wait_status)
{
	struct tracker *tracker = arg;

	process_ended(tracker, pid,
		      wait_status == -1 ? guess_writer_end(tracker, pid)
					: end_of_status(wait_status));
	tracker_poll_soon(tracker);
}

void tracker_find_dead_writers(struct tracker *tracker)
{
	for (pid_t pid; (pid = recent_writers_take_gone(&tracker->recent)) > 0;)
		process_ended(tracker, pid, WRITER_END_UNKNOWN);
}

/* --- who writes --- */

void tracker_note_writer(struct tracker *tracker, pid_t pid)
{
	if (recent_writers_note(&tracker->recent, pid, clock_monotonic_ms()))
		(void)exit_watch_add(tracker->exit_watch, pid);
}

static void holder_found(void *arg, pid_t pid, const char *path)
{
	struct tracker *tracker = arg;

	(void)path;
	/* Whose end nobody will tell is no help. */
	if (exit_watch_add(tracker->exit_watch, pid))
		detector_writer_seen(&tracker->detector, pid);
}

static void search(struct tracker *tracker, int64_t now_ms)
{
	int64_t took_ms;

	if (now_ms < tracker->next_search_ms)
		return;
	open_files_find_holders(tracker->options.workspace->directory, holder_found, tracker);
	took_ms = clock_monotonic_ms() - now_ms;
	tracker->next_search_ms = now_ms + took_ms + SCAN_EVERY_MS;
	if (took_ms * SCAN_SHARE > SCAN_EVERY_MS)
		tracker->next_search_ms = now_ms + took_ms * SCAN_SHARE;
}

void tracker_note_file_closed(struct tracker *tracker)
{
	const struct writer_table *writers = &tracker->detector.writers;

	for (size_t i = 0; i < writers->process_count; i++) {
		struct writer *writer = &writers->processes[i];

		/* A process that has begun to exit may have left the close to the kernel. */
		if (!writer->closed && !speaks(tracker, writer))
			writer->closed =
				!open_files_is_holder(tracker->options.workspace->directory,
						      writer->pid) &&
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
static bool may_be_held(const struct tracker *tracker, const char *relative)
{
	auto_free char *path =
		text_format("%s/%s", tracker->options.workspace->directory, relative);
	enum open_files_state word = open_files_query_file(path);
	bool any = word == OPEN_FILES_OPEN;

	if (word == OPEN_FILES_UNKNOWN)
		open_files_find_holders(tracker->options.workspace->directory, set_flag, &any);
	return any;
}

/* The kernel reports no more writes to the untracked files. Does a process still have one of them
 * open? */
static void check_for_holders(struct tracker *tracker, int64_t now_ms)
{
	struct detector *detector = &tracker->detector;
	uint64_t generation = detector->generation;
	char **list = detector_list_marked(detector, FILE_UNCLOSED);
	bool any_held = false;

	for (char **path = list; *path && detector->generation == generation; path++) {
		if (may_be_held(tracker, *path)) {
			any_held = true;
			continue;
		}
		/* The kernel queues the event of a close before it releases the file. So if the
		 * last holder closed its file just now, its event is drained here and changes the
		 * generation. */
		tracker_drain(tracker);
		if (detector->generation == generation)
			detector_all_closed(detector, *path);
	}
	if (any_held && tracker->unknown_holder_generation != generation) {
		/* Find the process while it lives: afterwards its exit status cannot be had. */
		tracker->unknown_holder_generation = generation;
		tracker->next_search_ms = 0;
		search(tracker, now_ms);
	}
	path_list_free(list);
}

void tracker_search_writers(struct tracker *tracker)
{
	int64_t now = clock_monotonic_ms();

	if (!detector_has_untracked(&tracker->detector))
		return;
	search(tracker, now);
	if (detector_waits_for_untracked(&tracker->detector, now))
		check_for_holders(tracker, now);
}
