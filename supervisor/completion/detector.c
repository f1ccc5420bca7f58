/* What the kernel's events and the ends of processes mean for the burst, and the verdict. The
 * shim's reports are handled in detector_shim.c. */
#include "detector.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "content_verdict.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

void detector_init(struct detector *detector, int64_t quiet_ms)
{
	*detector = (struct detector){.reported_verdict = DETECTOR_NOTHING};
	write_burst_init(&detector->burst, quiet_ms);
}

void detector_release(struct detector *detector)
{
	for (size_t i = 0; i < detector->ignored_count; i++)
		free(detector->ignored[i]);
	free(detector->ignored);
	free(detector->moved_path);
	write_burst_release(&detector->burst);
}

void detector_ignore(struct detector *detector, const char *pattern)
{
	detector->ignored = memory_grow(detector->ignored, detector->ignored_count + 1,
					sizeof(detector->ignored[0]));
	detector->ignored[detector->ignored_count++] = text_copy(pattern);
}

bool detector_ignores(const struct detector *detector, const char *path)
{
	const char *slash = strrchr(path, '/');

	for (size_t i = 0; i < detector->ignored_count; i++) {
		if (fnmatch(detector->ignored[i], path, 0) == 0 ||
		    (slash && fnmatch(detector->ignored[i], slash + 1, 0) == 0))
			return true;
	}
	return false;
}

/* A path that was renamed and has not reappeared has left the directory. Its descriptors stay in
 * the table until they are closed, because a new file may have the same name. */
static void forget_moved_path(struct detector *detector)
{
	if (detector->moved_path)
		path_set_remove_below(&detector->burst.paths, detector->moved_path);
	free(detector->moved_path);
	detector->moved_path = NULL;
}

static void moved_to(struct detector *detector, const struct dir_event *event, int64_t now_ms)
{
	if (detector->moved_path && detector->moved_cookie == event->cookie) {
		path_set_rename(&detector->burst.paths, detector->moved_path, event->path);
		writer_table_rename_below(&detector->burst.writers, detector->moved_path,
					  event->path);
		free(detector->moved_path);
		detector->moved_path = NULL;
	} else {
		path_set_remove_below(&detector->burst.paths, event->path);
	}
	write_burst_touch(&detector->burst, event->path, 0, now_ms);
}

static void kernel_closed(struct detector *detector, const char *path, int64_t now_ms)
{
	unsigned marks = path_set_marks(&detector->burst.paths, path);

	write_burst_touch(&detector->burst, path, 0, now_ms);
	path_set_unmark(&detector->burst.paths, path, WRITE_BURST_WRITTEN);
	/* Without the shim, a write and a close by the last writer is all that shows that a torn
	 * file was written anew. */
	if ((marks & (WRITE_BURST_TORN | WRITE_BURST_SEEN | WRITE_BURST_REWRITTEN)) ==
	    (WRITE_BURST_TORN | WRITE_BURST_REWRITTEN))
		path_set_unmark(&detector->burst.paths, path,
				WRITE_BURST_TORN | WRITE_BURST_REWRITTEN);
	/* The shim has missed the close (a raw system call), or its report is still to come. */
	if (writer_table_has_open(&detector->burst.writers, path))
		detector->needs_verify = true;
	writer_table_close_path(&detector->burst.writers, path);
}

/* If the shim reports the file as open, its report of the close ends the write. Otherwise the
 * writer is unknown, and only the kernel's close event ends it. */
static void kernel_modified(struct detector *detector, const char *path, unsigned marks,
			    int64_t now_ms)
{
	bool seen =
		(marks & WRITE_BURST_SEEN) && writer_table_has_open(&detector->burst.writers, path);

	write_burst_touch(&detector->burst, path,
			  (seen ? 0 : WRITE_BURST_WRITTEN) |
				  (marks & WRITE_BURST_TORN ? WRITE_BURST_REWRITTEN : 0),
			  now_ms);
}

void detector_handle_kernel(struct detector *detector, const struct dir_event *event,
			    int64_t now_ms)
{
	unsigned marks;

	if (event->change != DIR_RESCAN && detector_ignores(detector, event->path))
		return;
	write_burst_before_event(&detector->burst, now_ms);
	if (detector->moved_path && event->change != DIR_MOVED_TO &&
	    (event->change == DIR_MOVED_FROM ||
	     path_set_is_below(event->path, detector->moved_path)))
		forget_moved_path(detector);
	marks = path_set_marks(&detector->burst.paths, event->path);
	switch (event->change) {
	case DIR_CREATED:
		/* It may be open, with its content still in the writer's buffer; or it is a
		 * link. */
		write_burst_touch(&detector->burst, event->path,
				  marks & WRITE_BURST_SEEN ? 0 : WRITE_BURST_WRITTEN, now_ms);
		break;
	case DIR_MODIFIED:
		kernel_modified(detector, event->path, marks, now_ms);
		break;
	case DIR_CHANGED:
		/* A scan sees neither the writer nor whether the file is open. It is also late: a
		 * torn file stays torn, because the write may be older than the tear. */
		write_burst_touch(&detector->burst, event->path,
				  detector->events_lost ? WRITE_BURST_WRITTEN : 0, now_ms);
		break;
	case DIR_CLOSED_WRITE:
		kernel_closed(detector, event->path, now_ms);
		break;
	case DIR_MOVED_FROM:
		write_burst_change(&detector->burst, now_ms);
		detector->moved_cookie = event->cookie;
		detector->moved_path = text_copy(event->path);
		break;
	case DIR_MOVED_TO:
		moved_to(detector, event, now_ms);
		break;
	case DIR_DELETED:
		write_burst_change(&detector->burst, now_ms);
		path_set_remove_below(&detector->burst.paths, event->path);
		break;
	case DIR_DIRECTORY_CREATED:
		write_burst_change(&detector->burst, now_ms);
		break;
	case DIR_RESCAN:
		/* The lost events may be the close of an open file, or a write to a closed one. So
		 * every path counts as open until a search finds that nobody has it open. */
		write_burst_write(&detector->burst, now_ms);
		path_set_change_all(&detector->burst.paths, WRITE_BURST_DIRTY, 0,
				    WRITE_BURST_WRITTEN);
		detector->events_lost = true;
		detector->needs_verify = true;
		break;
	}
}

static enum writer_end effective_writer_end(const struct detector *detector,
					    const struct writer *writer, enum writer_end end)
{
	if (end == WRITER_END_UNKNOWN && writer->failed)
		end = WRITER_END_FAILED;
	/* After a request to save, a job may end with any code; it says nothing about the files. */
	if (end == WRITER_END_FAILED && detector->burst.request_ms != DETECTOR_NEVER)
		end = WRITER_END_EXITED;
	return end;
}

void detector_process_ended(struct detector *detector, int pid, enum writer_end end, int64_t now_ms)
{
	struct write_burst *burst = &detector->burst;
	const struct writer *found = writer_table_find(&burst->writers, pid);
	struct writer writer = found ? *found : (struct writer){0};
	bool open, cut_off, unannounced, failed;

	end = effective_writer_end(detector, &writer, end);
	write_burst_before_event(burst, now_ms);
	open = write_burst_close_all(burst, pid, false);
	writer_table_forget(&burst->writers, pid);
	/* The signal may have come while exit() was flushing. */
	cut_off = writer.open_at_exit && end == WRITER_END_KILLED;
	/* It may have died between two files of a checkpoint. */
	unannounced = found && !writer.exiting && end != WRITER_END_EXITED && burst->active;
	failed = found && end == WRITER_END_FAILED && burst->active;
	if (!burst->settled && (open || cut_off || unannounced || failed))
		write_burst_mark_torn(burst, now_ms);
}

void detector_add_stall(struct detector *detector, int64_t ms)
{
	write_burst_add_stall(&detector->burst, ms);
}

int64_t detector_last_ms(const struct detector *detector)
{
	return detector->burst.last_ms;
}

void detector_job_ended(struct detector *detector, bool clean, int64_t now_ms)
{
	bool open = detector->burst.writers.open_count > 0;

	write_burst_before_event(&detector->burst, now_ms);
	if (!detector->burst.active || detector->burst.settled)
		return;
	while (detector->burst.writers.open_count > 0)
		writer_table_close(&detector->burst.writers, &detector->burst.writers.opens[0]);
	if (open || !clean)
		write_burst_mark_torn(&detector->burst, now_ms);
	detector->burst.over = true;
}

static enum detector_verdict report_verdict(struct detector *detector,
					    enum detector_verdict verdict)
{
	detector->reported_verdict = verdict;
	detector->reported_generation = detector->burst.generation;
	return verdict;
}

enum detector_verdict detector_poll(struct detector *detector, int64_t now_ms, int64_t *at_ms)
{
	const struct write_burst *burst = &detector->burst;

	*at_ms = DETECTOR_NEVER;
	forget_moved_path(detector);
	if (!burst->active)
		return report_verdict(detector, DETECTOR_NOTHING);
	if (!write_burst_is_over(burst, now_ms)) {
		/* At that time the tracker can search for holders of files that only the kernel
		 * has reported. */
		if (burst->writers.open_count == 0 && now_ms < write_burst_over_at_ms(burst))
			*at_ms = write_burst_over_at_ms(burst);
		return report_verdict(detector, DETECTOR_BUSY);
	}
	if (!burst->torn || write_burst_accept_previous(&detector->burst))
		return report_verdict(detector, DETECTOR_COMPLETE);
	path_set_change_all(&detector->burst.paths, WRITE_BURST_DIRTY, 0, WRITE_BURST_TORN);
	return report_verdict(detector, DETECTOR_TORN);
}

/* --- what the job and the files' contents say --- */

void detector_note_completion_marker(struct detector *detector)
{
	write_burst_note_completion_marker(&detector->burst);
}

void detector_note_saved(struct detector *detector, int pid, int64_t now_ms)
{
	write_burst_before_event(&detector->burst, now_ms);
	write_burst_note_saved(&detector->burst, pid);
}

void detector_each_unchecked(const struct detector *detector, path_set_fn *act, void *argument)
{
	path_set_each(&detector->burst.paths, WRITE_BURST_UNCHECKED, act, argument);
}

enum detector_verdict detector_apply_findings(
	struct detector *detector, const struct findings *findings, int64_t now_ms, int64_t *at_ms)
{
	int64_t wait_ms = detector->burst.over ? 0 : content_verdict_wait_ms(findings);

	*at_ms = DETECTOR_NEVER;
	if (wait_ms > 0) {
		*at_ms = now_ms + wait_ms;
		write_burst_postpone(&detector->burst, *at_ms);
		return report_verdict(detector, DETECTOR_BUSY);
	}
	return report_verdict(detector, content_verdict_apply(&detector->burst, findings)
						? DETECTOR_COMPLETE
						: DETECTOR_TORN);
}

bool detector_is_postponed(const struct detector *detector)
{
	return detector->burst.active &&
	       detector->burst.postponed_generation == detector->burst.generation;
}

void detector_acknowledge(struct detector *detector)
{
	if ((detector->reported_verdict != DETECTOR_COMPLETE &&
	     detector->reported_verdict != DETECTOR_TORN) ||
	    detector->reported_generation != detector->burst.generation)
		return;
	write_burst_end(&detector->burst);
	detector->events_lost = false;
	detector->reported_verdict = DETECTOR_NOTHING;
}

uint64_t detector_generation(const struct detector *detector)
{
	return detector->burst.generation;
}

bool detector_accepted_previous(const struct detector *detector)
{
	return detector->burst.previous_accepted;
}

bool detector_is_torn(const struct detector *detector, const char *path)
{
	return write_burst_is_torn(&detector->burst, path);
}

void detector_each_torn(const struct detector *detector, path_set_fn *act, void *argument)
{
	path_set_each(&detector->burst.paths, WRITE_BURST_TORN | WRITE_BURST_REJECTED, act,
		      argument);
}

void detector_each_open(const struct detector *detector, path_set_fn *act, void *argument)
{
	for (size_t i = 0; i < detector->burst.writers.open_count; i++)
		act(argument, detector->burst.writers.opens[i].path);
	path_set_each(&detector->burst.paths, WRITE_BURST_WRITTEN, act, argument);
}

struct closed_path_filter {
	const struct detector *detector;
	path_set_fn *act;
	void *argument;
};

static void act_if_closed(void *argument, const char *path)
{
	const struct closed_path_filter *search = argument;
	const struct write_burst *burst = &search->detector->burst;

	if (!(path_set_marks(&burst->paths, path) & WRITE_BURST_WRITTEN) &&
	    !detector_is_torn(search->detector, path) &&
	    !writer_table_has_open(&burst->writers, path))
		search->act(search->argument, path);
}

void detector_each_closed(const struct detector *detector, path_set_fn *act, void *argument)
{
	struct closed_path_filter search = {detector, act, argument};

	if (detector->burst.active && !detector->burst.torn)
		path_set_each(&detector->burst.paths, WRITE_BURST_DIRTY, act_if_closed, &search);
}

void detector_requested(struct detector *detector, int64_t now_ms)
{
	detector->burst.request_ms = now_ms;
	detector->burst.first_write_ms = DETECTOR_NEVER;
}

int64_t detector_first_open_ms(const struct detector *detector)
{
	return detector->burst.first_write_ms;
}

/* True from the second time on: its last reports have certainly been handed in by then. */
static bool confirm_gone(struct detector *detector, int pid)
{
	struct writer *writer = writer_table_add(&detector->burst.writers, pid);
	bool confirmed = writer->gone;

	writer->gone = true;
	return confirmed;
}

void detector_verify(struct detector *detector, detector_query_fd_fn *held, void *argument,
		     int64_t now_ms)
{
	struct writer_table *writers = &detector->burst.writers;

	write_burst_before_event(&detector->burst, now_ms);
	detector->needs_verify = false;
	for (size_t i = 0; i < writers->open_count;) {
		struct writer_descriptor *open = &writers->opens[i];
		int pid = open->pid;
		const struct writer *writer = writer_table_find(writers, pid);
		enum shim_channel_fd answer;

		/* /proc of another PID namespace cannot be read. A file that the kernel reports as
		 * closed and the shim does not was closed by the end of the process. */
		if (writer && writer->elsewhere)
			answer = open->closed ? SHIM_CHANNEL_FD_GONE : SHIM_CHANNEL_FD_OPEN;
		else
			answer = held(argument, pid, open->descriptor);

		if (answer == SHIM_CHANNEL_FD_CLOSED) {
			writer_table_close(writers, open);
			write_burst_write(&detector->burst, now_ms);
		} else if (answer == SHIM_CHANNEL_FD_GONE && confirm_gone(detector, pid)) {
			/* It removes at least this descriptor, so that the loop advances. */
			detector_process_ended(detector, pid, WRITER_END_UNKNOWN, now_ms);
		} else {
			detector->needs_verify |= answer == SHIM_CHANNEL_FD_GONE;
			i++;
		}
	}
}

bool detector_needs_verify(const struct detector *detector)
{
	return detector->needs_verify && detector->burst.writers.open_count > 0;
}

/* --- writers without the shim: only the kernel reports their writes --- */

bool detector_has_untracked(const struct detector *detector)
{
	const struct writer_table *writers = &detector->burst.writers;

	/* A process of another PID namespace reports its writes, but under a PID that means nothing
	 * here: it has to be searched for as well. */
	for (size_t i = 0; writers->open_count > 0 && i < writers->process_count; i++)
		if (writers->processes[i].elsewhere)
			return true;
	return path_set_any(&detector->burst.paths, WRITE_BURST_WRITTEN);
}

void detector_writer_seen(struct detector *detector, int pid)
{
	if (detector->burst.active)
		writer_table_add(&detector->burst.writers, pid);
}

bool detector_waits_for_untracked(const struct detector *detector, int64_t now_ms)
{
	const struct write_burst *burst = &detector->burst;

	return burst->active && burst->writers.open_count == 0 &&
	       detector_has_untracked(detector) && now_ms >= write_burst_over_at_ms(burst);
}

void detector_each_untracked(const struct detector *detector, path_set_fn *act, void *argument)
{
	path_set_each(&detector->burst.paths, WRITE_BURST_WRITTEN, act, argument);
}

void detector_all_closed(struct detector *detector)
{
	path_set_change_all(&detector->burst.paths, WRITE_BURST_WRITTEN, WRITE_BURST_WRITTEN, 0);
}
