/* Hands what the shim and the kernel report to the detector, in their order. tracker_poll() is the
 * heart: it hands in all that is queued, and has tracker_verdicts.c act upon what is decided. */
#include "tracker_state.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "base/workers.h"
#include "monitor/monitor.h"
#include "process/process.h"
#include "workspace/workspace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fixed names that were written so often, and never complete, are written all the time. */
#define OFTEN_WRITTEN 8

/* --- evidence --- */

/* Time during which we were stalled is not quiet time: the job may have been stalled with us, or
 * may have gone on and died. */
static void account_for_stall(struct tracker *tracker)
{
	tracker->detector.stalled_ms += stall_clock_read_and_reset(&tracker->stall_clock);
}

static void note_touched_path(struct tracker *tracker, const char *path)
{
	if (tracker->saving || detector_is_running(&tracker->detector, path) ||
	    !detector_is_busy(&tracker->detector))
		return;
	tracker->saving = true;
	tracker->next_search_ms = 0;
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

/* The job has closed the file, and a write to it had failed. Warns once, and again after the next
 * complete checkpoint. */
static void warn_of_failed_write(struct tracker *tracker, const char *path)
{
	if (tracker->warned_failed)
		return;
	tracker->warned_failed = true;
	log_warn("a write to %s failed in the job (is the disk full?): it is not saved until it is "
		 "written anew",
		 path);
}

static void handle_shim(void *arg, const struct shim_message *message)
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
		warn_of_failed_write(tracker, message->path);
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
		tracker_note_writer(tracker, message->pid);
	note_touched_path(tracker, final_path(message));
}

/* The job here has finished, and another member judges and saves what is still to come. */
static bool is_of_keeper(const struct tracker *tracker)
{
	return tracker->options.workspace->kept_by_other &&
	       tracker->detector.job_end == JOB_END_CLEAN;
}

static void handle_directory(void *arg, const struct dir_event *event)
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
		tracker_note_file_closed(tracker);
	note_marker(tracker, event->path,
		    event->change == DIR_CLOSED_WRITE || event->change == DIR_MOVED_TO,
		    event->change == DIR_DELETED);
	tracker_poll_soon(tracker);
	tracker->lost |= event->change == DIR_RESCAN;
	if (event->change != DIR_RESCAN && event->change != DIR_DELETED)
		note_touched_path(tracker, event->path);
}

void tracker_drain(struct tracker *tracker)
{
	account_for_stall(tracker);
	if (tracker->shim_channel)
		shim_channel_poll(tracker->shim_channel);
	directory_monitor_drain(tracker->directory);
}

/* --- verdicts --- */

static enum open_files_descriptor query_descriptor(void *arg, int pid, int descriptor)
{
	struct tracker *tracker = arg;

	return open_files_query_descriptor(tracker->options.workspace->directory, pid, descriptor);
}

static void rearm(struct tracker *tracker, int64_t at_ms)
{
	bool busy = detector_is_busy(&tracker->detector);
	int64_t now_ms = clock_monotonic_ms();
	int64_t next_ms = tracker->listed_wakes_ms < at_ms ? tracker->listed_wakes_ms : at_ms;

	if (tracker->answered_ms > 0 && tracker->answered_ms < next_ms)
		next_ms = tracker->answered_ms;
	if ((busy || !directory_monitor_is_open(tracker->directory)) &&
	    next_ms > now_ms + TRACKER_POLL_MS)
		next_ms = now_ms + TRACKER_POLL_MS;
	if (busy && tracker->detector.generation != tracker->reported_generation &&
	    next_ms > now_ms + TRACKER_REPORT_MS)
		next_ms = now_ms + TRACKER_REPORT_MS;
	stall_clock_enable(&tracker->stall_clock, busy && at_ms != DETECTOR_NEVER);
	if (next_ms == DETECTOR_NEVER)
		loop_disarm(tracker->options.loop, &tracker->timer);
	else
		loop_arm(tracker->options.loop, &tracker->timer, next_ms);
}

static void gather_evidence(struct tracker *tracker)
{
	bool busy;

	/* The writers have ended with the job, and that was told: nobody looks for them now. */
	if (tracker->ending)
		return;
	directory_monitor_open(tracker->directory, tracker->started);
	tracker_drain(tracker);
	/* Before the searches and checks, which take their time. */
	tracker_report_under_way(tracker, false);
	if (tracker->lost)
		directory_monitor_rescan(tracker->directory);
	tracker->lost = false;
	tracker_search_writers(tracker);
	busy = detector_is_busy(&tracker->detector);
	/* A writer that died, or a report that was lost, changes the verdict: look for both before
	 * it is final. */
	if (busy)
		tracker_find_dead_writers(tracker);
	if (tracker->shim_channel && (busy || detector_needs_verify(&tracker->detector)))
		detector_verify(&tracker->detector, query_descriptor, tracker,
				clock_monotonic_ms());
}

void tracker_poll(struct tracker *tracker)
{
	int64_t at_ms;

	gather_evidence(tracker);
	at_ms = tracker_apply_verdicts(tracker);
	/* First of all: at a kill just now, the next start would take what is complete for torn. */
	tracker_report_under_way(tracker, tracker->ending);
	tracker_note_late_answer(tracker);
	tracker_report_closed_files(tracker);
	tracker_report_running_files(tracker);
	tracker_warn_if_stuck(tracker);
	rearm(tracker, at_ms);
	if (!tracker->ending || tracker->checks.running)
		return;
	tracker->ending = false;
	tracker->options.ended(tracker->options.arg);
}

static void timer_fired(struct timer *timer)
{
	tracker_poll(container_of(timer, struct tracker, timer));
}

/* Until when the rest of a save of an unknown kind is awaited; 0: it is not. */
static int64_t unknown_until_ms(const struct detector *detector, int64_t now_ms)
{
	return detector->job_end == JOB_END_NOT_YET && detector->unknown_until_ms > now_ms
		       ? detector->unknown_until_ms
		       : 0;
}

/* `certain`: with the rest of the first save ever. What answers a request is not held back for it,
 * and the next request may be sent. */
static int64_t awaited_until_ms(const struct tracker *tracker, bool certain)
{
	const struct detector *detector = &tracker->detector;
	int64_t now_ms = clock_monotonic_ms(), unknown_ms = unknown_until_ms(detector, now_ms);
	int64_t until_ms = detector_partners_until_ms(detector, now_ms);

	return certain && detector->request_ms == DETECTOR_NEVER && unknown_ms > until_ms
		       ? unknown_ms
		       : until_ms;
}

/* struct directory_view: closed_ms */
static int64_t provable_ms(struct tracker *tracker)
{
	struct checkpoint *checkpoint = detector_find_provable(&tracker->detector);

	if (!checkpoint || !tracker->checks.workers)
		return 0;
	if (checkpoint_any(checkpoint, FILE_UNCHECKED))
		(void)tracker_check_contents(tracker, checkpoint);
	return detector_outlives_job(&tracker->detector, checkpoint, clock_monotonic_ms())
		       ? checkpoint->last_ms
		       : 0;
}

struct directory_view tracker_look(struct tracker *tracker, bool stop_stands, bool told_to_end)
{
	struct detector *detector = &tracker->detector;
	struct progress_page *page = tracker_page(tracker);

	tracker_drain(tracker);
	return (struct directory_view){
		.saving = detector_is_busy(detector) || awaited_until_ms(tracker, true) > 0,
		.own_word = detector_has_own_word(detector, tracker->latest_key),
		.closed_ms = told_to_end ? provable_ms(tracker) : 0,
		.replacing = detector_is_replacing(detector),
		.partners_until_ms = awaited_until_ms(tracker, stop_stands),
		.unknown_until_ms = unknown_until_ms(detector, clock_monotonic_ms()),
		.only_running = !detector_has_ordinary_files(detector),
		.running_work = detector->running_work ||
				(detector->running_log && !detector->wrote_checkpoint),
		.holds_less = snapshot_plan_would_hold_less(detector, tracker->latest_key),
		.last_write_ms = detector->last_ms,
		.reported_step = page ? progress_page_last_step(page) : -1,
		.running_generation = detector->running_generation,
		.polled = page && progress_page_count_polling(page) > 0,
	};
}

bool tracker_has_begun_checkpoint(struct tracker *tracker)
{
	tracker_drain(tracker);
	return detector_has_begun_checkpoint(&tracker->detector);
}

int64_t tracker_seen_since(struct tracker *tracker, int64_t since_ms)
{
	tracker_drain(tracker);
	return directory_monitor_is_current(tracker->directory, since_ms)
		       ? clock_monotonic_ms()
		       : INT64_MAX;
}

void tracker_leave_out(struct tracker *tracker, int64_t until_ms, int64_t number)
{
	tracker->detector.left_out_ms = until_ms;
	if (number > tracker->detector.left_out_number)
		tracker->detector.left_out_number = number;
}

/* --- a snapshot --- */

void tracker_plan(struct tracker *tracker, struct snapshot_plan *plan)
{
	tracker_drain(tracker);
	snapshot_plan_make(plan, &tracker->detector, tracker->latest_key);
}

bool tracker_lacks_newest(struct tracker *tracker)
{
	tracker_drain(tracker);
	if (!tracker->latest_key)
		return tracker->detector.write_count >= OFTEN_WRITTEN;
	return snapshot_plan_would_lack_newest(&tracker->detector, tracker->latest_key);
}

bool tracker_lacks_step_after(struct tracker *tracker, int64_t step)
{
	tracker_drain(tracker);
	each_checkpoint (checkpoint, &tracker->detector.table)
		if (*checkpoint->key && checkpoint->number > step &&
		    checkpoint->state == CHECKPOINT_TORN)
			return true;
	return false;
}

bool tracker_has_step(const struct tracker *tracker, int64_t step)
{
	each_checkpoint (checkpoint, &tracker->detector.table)
		if (*checkpoint->key && checkpoint_stands(checkpoint) &&
		    checkpoint_step_of(checkpoint) == step)
			return true;
	return false;
}

int64_t tracker_begun_step(const struct tracker *tracker)
{
	return detector_begun_step(&tracker->detector);
}

bool tracker_confirm(struct tracker *tracker, struct snapshot_plan *plan, bool last_try)
{
	tracker_drain(tracker);
	for (char **path = plan->empty; path && *path; path++)
		detector_note_empty(&tracker->detector, *path, clock_monotonic_ms());
	return snapshot_plan_confirm(plan, &tracker->detector, last_try);
}

json_t *tracker_signatures(const struct tracker *tracker)
{
	return detector_signatures_json(&tracker->detector);
}

void tracker_list_files(const struct tracker *tracker, char ***closed, char ***open)
{
	*closed = detector_list(&tracker->detector, detector_each_closed);
	*open = detector_list(&tracker->detector, detector_each_open);
}

const struct recent_writers *tracker_writers(const struct tracker *tracker)
{
	return &tracker->recent;
}

/* --- life --- */

static void open_shim_channel(struct tracker *tracker)
{
	const struct workspace *workspace = tracker->options.workspace;
	struct err why;

	if (tracker->options.session_directory &&
	    shim_channel_open(tracker->options.loop, tracker->options.session_directory,
			      workspace->directory, workspace->alias[0] ? workspace->alias : NULL,
			      handle_shim, tracker, &tracker->shim_channel, &why) < 0)
		snprintf(tracker->missing_evidence, sizeof(tracker->missing_evidence),
			 "the shim is not used: %.300s", why.text);
}

void tracker_new(const struct tracker_options *options, struct tracker **result)
{
	struct tracker *tracker = memory_new(sizeof(*tracker));

	tracker->options = *options;
	tracker->timer.fired = timer_fired;
	tracker->latest.step = tracker->latest.resume_step = -1;
	stall_clock_init(&tracker->stall_clock, options->loop, options->quiet_ms);
	detector_init(&tracker->detector, options->quiet_ms, options->patterns);
	tracker->detector.questions = (struct detector_questions){
		.look = file_look_at,
		.is_database = file_look_is_database,
		.arg = options->workspace->directory,
	};
	tracker->detector.profile = options->profile;
	tracker->detector.others_write = options->others_write;
	/* It knew all that the snapshot says, and more. */
	detector_load_signatures(&tracker->detector, json_object_get(options->left, "signatures"));
	detector_load_signatures(&tracker->detector, options->signatures);
	for (char *const *path = options->existing; path && *path; path++)
		detector_note_existing(&tracker->detector, *path);
	tracker->directory = directory_monitor_new(&(struct directory_monitor_options){
		.loop = options->loop,
		.directory = options->workspace->directory,
		.quiet_ms = options->quiet_ms,
		.polls = options->polls,
		.said = handle_directory,
		.on_scanned = tracker_poll_soon,
		.arg = tracker,
	});
	tracker->exit_watch = exit_watch_new(options->loop, tracker_writer_ended, tracker);
	if (options->looks)
		tracker_start_checks(tracker);
	open_shim_channel(tracker);
	/* Files that exist already are not a save of this job: `started` is still false. */
	*result = tracker;
	tracker->knows_more = true;
	tracker_poll(tracker);
	tracker->started = true;
}

bool tracker_end_within(struct tracker *tracker, int64_t milliseconds)
{
	struct workers *workers = tracker->checks.workers;

	return !workers || workers_end_within(workers, milliseconds);
}

void tracker_free(struct tracker *tracker)
{
	if (!tracker)
		return;
	loop_disarm(tracker->options.loop, &tracker->timer);
	stall_clock_release(&tracker->stall_clock);
	exit_watch_free(tracker->exit_watch);
	directory_monitor_free(tracker->directory);
	tracker_stop_checks(tracker);
	if (tracker->shim_channel)
		shim_channel_close(tracker->shim_channel);
	detector_release(&tracker->detector);
	path_list_free(tracker->listed);
	free(tracker->latest_key);
	free(tracker);
}

const char *tracker_channel(const struct tracker *tracker)
{
	return tracker->shim_channel ? shim_channel_path(tracker->shim_channel) : NULL;
}

struct progress_page *tracker_page(const struct tracker *tracker)
{
	return tracker->shim_channel ? shim_channel_page(tracker->shim_channel) : NULL;
}

void tracker_set_sigterm_hold(struct tracker *tracker, enum shim_hold state)
{
	if (tracker->shim_channel)
		shim_channel_set_sigterm_hold(tracker->shim_channel, state);
}

void tracker_set_notice_signals(struct tracker *tracker, uint32_t signals)
{
	if (tracker->shim_channel)
		shim_channel_set_notice_signals(tracker->shim_channel, signals);
}

const char *tracker_missing_evidence(const struct tracker *tracker)
{
	return tracker->missing_evidence;
}

void tracker_requested(struct tracker *tracker)
{
	tracker_drain(tracker);
	tracker->answered_ms = 0;
	detector_requested(&tracker->detector, clock_monotonic_ms());
}

void tracker_process_ended(struct tracker *tracker, pid_t pid, int wait_status)
{
	tracker_writer_ended(tracker, pid, wait_status);
	tracker_poll(tracker);
}

void tracker_job_ended(struct tracker *tracker, enum job_end end)
{
	directory_monitor_open(tracker->directory, tracker->started);
	tracker_drain(tracker);
	directory_monitor_scan_now(tracker->directory);
	detector_job_ended(&tracker->detector, end, clock_monotonic_ms());
	tracker->ending = true;
	tracker_note_settings(tracker);
	tracker_poll(tracker);
}

const struct latest_checkpoint *tracker_latest_checkpoint(const struct tracker *tracker)
{
	return &tracker->latest;
}
