/* Hands what the shim and the kernel report to the detector, in their order. */
#include "base/clock.h"
#include "base/text.h"
#include "file_look.h"
#include "tracker_state.h"
#include "writer_monitor.h"

/* Time during which we were stalled is not quiet time: the job may have been stalled with us, or
 * may have gone on and died. */
static void account_for_stall(struct tracker *tracker)
{
	detector_add_stall(&tracker->detector, stall_clock_read_and_reset(&tracker->stall_clock));
}

static void note_touched_path(struct tracker *tracker, const char *path)
{
	if (tracker->saving || detector_is_running(&tracker->detector, path) ||
	    !detector_is_busy(&tracker->detector))
		return;
	tracker->saving = true;
	writer_monitor_scan_soon(tracker->writers);
	tracker->options.saving(tracker->options.arg, path);
}

void tracker_poll_soon(void *arg)
{
	struct tracker *tracker = arg;

	loop_arm(tracker->options.loop, &tracker->timer, clock_monotonic_ms());
}

/* The process closed its files before it called the checkpoint complete, so that the kernel has
 * queued their events. They are handed in first: otherwise they would count as later writes. */
static void process_saved(struct tracker *tracker, const struct shim_message *message)
{
	directory_monitor_drain(tracker->directory);
	detector_note_saved(&tracker->detector, message->pid, message->step, clock_monotonic_ms());
	tracker_poll_soon(tracker);
}

static const char *final_path(const struct shim_message *message)
{
	return message->path2 && message->path2[0] ? message->path2 : message->path;
}

/* It may be the last write of a framework's save: see profile.h. */
static void note_marker(struct tracker *tracker, const char *path, bool written, bool removed)
{
	const struct profile *profile = tracker->options.profile;

	if ((written && profile_is_completion_marker(profile, path)) ||
	    (removed && profile_has_marker(profile, PROFILE_RULE_FORBIDS, path)))
		detector_note_marker(&tracker->detector, path);
}

static void tell_of_writer(struct tracker *tracker, const struct shim_message *message)
{
	bool anew = message->event == SHIM_HELLO;

	if (!tracker->options.writer || message->lost ||
	    (message->flags & SHIM_FLAG_FOREIGN_PIDNS) || (!anew && message->event != SHIM_OPENED))
		return;
	if (anew || (*message->path && !detector_is_running(&tracker->detector, message->path)))
		tracker->options.writer(tracker->options.arg, message->pid, anew);
}

void tracker_handle_shim(void *arg, const struct shim_message *message)
{
	struct tracker *tracker = arg;

	account_for_stall(tracker);
	if (message->event == SHIM_CHANNEL_SAVED) {
		process_saved(tracker, message);
		return;
	}
	if (message->event == SHIM_SIGTERM_HELD) {
		if (tracker->options.held)
			tracker->options.held(tracker->options.arg, message->pid,
					      message->descriptor, (int64_t)message->device);
		return;
	}
	if (message->event == SHIM_SAVED_ELSEWHERE) {
		if (tracker->options.saved_elsewhere)
			tracker->options.saved_elsewhere(tracker->options.arg, message->path);
		return;
	}
	/* Our own files, as of a run below this one. */
	if (text_starts(message->path, ".reprieve"))
		return;
	/* The kernel's events are handed in before a report of a close: events that come after it
	 * are then known to be somebody else's writes. */
	if (message->event == SHIM_CLOSED && (message->flags & SHIM_FLAG_FAILED) &&
	    !(message->flags & SHIM_FLAG_DELETED) && *message->path &&
	    !detector_is_running(&tracker->detector, message->path))
		tracker_warn_of_failed_write(tracker, message->path);
	if (message->event != SHIM_OPENED)
		directory_monitor_drain(tracker->directory);
	/* This one counts already. */
	tracker->detector.table.position = shim_channel_position(tracker->shim_channel) - 1;
	detector_handle_shim(&tracker->detector, message, clock_monotonic_ms());
	tracker_poll_soon(tracker);
	tell_of_writer(tracker, message);
	if (message->lost || message->event == SHIM_HELLO || message->event == SHIM_EXITING)
		return;
	note_marker(tracker, final_path(message),
		    message->event == SHIM_CLOSED || message->event == SHIM_RENAMED,
		    message->event == SHIM_UNLINKED);
	if (message->event == SHIM_UNLINKED)
		return;
	if (!(message->flags & SHIM_FLAG_FOREIGN_PIDNS))
		writer_monitor_add(tracker->writers, message->pid);
	note_touched_path(tracker, final_path(message));
}

/* The job here has finished, and another member judges and saves what is still to come. */
static bool is_of_keeper(const struct tracker *tracker)
{
	return tracker->options.workspace->kept_by_other &&
	       tracker->detector.job_end == JOB_END_CLEAN;
}

void tracker_handle_directory(void *arg, const struct dir_event *event)
{
	struct tracker *tracker = arg;
	struct dir_event seen = *event;

	/* Our own files: the probe at the start, and our folder on a mount point. */
	if (text_starts(event->path, ".reprieve") || is_of_keeper(tracker))
		return;
	account_for_stall(tracker);
	if (tracker->shim_channel)
		tracker->detector.table.position = shim_channel_position(tracker->shim_channel);
	if (event->change == DIR_CREATED || event->change == DIR_MOVED_TO)
		seen.symlink =
			file_look_at(tracker->options.workspace->directory, event->path).symlink;
	detector_handle_kernel(&tracker->detector, &seen, clock_monotonic_ms());
	if (event->change == DIR_CLOSED_WRITE)
		writer_monitor_file_closed(tracker->writers);
	note_marker(tracker, event->path,
		    event->change == DIR_CLOSED_WRITE || event->change == DIR_MOVED_TO,
		    event->change == DIR_DELETED);
	tracker_poll_soon(tracker);
	tracker->lost |= event->change == DIR_RESCAN;
	if (event->change != DIR_RESCAN && event->change != DIR_DELETED)
		note_touched_path(tracker, event->path);
}

void tracker_drain(void *arg)
{
	struct tracker *tracker = arg;

	account_for_stall(tracker);
	if (tracker->shim_channel)
		shim_channel_poll(tracker->shim_channel);
	directory_monitor_drain(tracker->directory);
}
