/* decide_completeness() is the heart: it hands all queued evidence to the detector, polls it, has
 * the contents checked, and acts upon the verdict. */
#include "tracker.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "completion_marker.h"
#include "content_check_worker.h"
#include "detector.h"
#include "monitor/monitor.h"
#include "tracker_timing.h"
#include "workspace/workspace.h"
#include "writer_monitor.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#define STUCK_SAVE_WARN_MS 30000

struct tracker {
	struct tracker_options options;
	struct directory_monitor *directory;
	struct shim_channel *shim_channel; /* NULL: no shim */
	struct writer_monitor *writers;
	struct detector detector;
	struct checker *checker; /* NULL: contents are not checked */
	struct latest_checkpoint latest;
	struct timer timer;
	struct stall_clock stall_clock;
	struct tracker_timing timing;
	/* since when the verdict has been BUSY; 0: it is not */
	int64_t busy_since_ms;
	bool warned_stuck;
	/* why there is no shim */
	char missing_evidence[400];
	/* `saving` was called for this burst */
	bool saving;
	/* guards against recursion: `on_complete` may call tracker_poll() */
	bool polling;
	/* the job may be writing */
	bool started;
	/* kernel events were lost */
	bool lost;
};

/* Time during which we were stalled is not quiet time: the job may have been stalled with us, or
 * may have gone on and died. */
static void account_for_stall(struct tracker *tracker)
{
	detector_add_stall(&tracker->detector, stall_clock_read_and_reset(&tracker->stall_clock));
}

/* --- evidence --- */

static void note_touched_path(struct tracker *tracker, const char *path)
{
	if (tracker->saving || log_files_match(path))
		return;
	tracker->saving = true;
	writer_monitor_scan_soon(tracker->writers);
	tracker->options.saving(tracker->options.arg, path);
}

/* Decides after the whole batch of events was handed in, not after each event. */
static void poll_soon(void *arg)
{
	struct tracker *tracker = arg;

	if (!tracker->polling)
		loop_arm(tracker->options.loop, &tracker->timer, clock_monotonic_ms());
}

/* The process closed its files before it called the checkpoint complete, so that the kernel has
 * queued their events. They are handed in first: otherwise they would count as later writes. */
static void process_saved(struct tracker *tracker, const struct shim_message *message)
{
	directory_monitor_drain(tracker->directory);
	latest_checkpoint_note_step(&tracker->latest, message->step);
	detector_note_saved(&tracker->detector, message->pid, clock_monotonic_ms());
	poll_soon(tracker);
}

static void handle_shim_message(void *arg, const struct shim_message *message)
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
	/* The kernel's events are handed in before a report of a close: events that come after it
	 * are then known to be somebody else's writes. */
	if (message->event != SHIM_OPENED)
		directory_monitor_drain(tracker->directory);
	detector_handle_shim(&tracker->detector, message, clock_monotonic_ms());
	if (completion_marker_by_shim(tracker->options.profile, message))
		detector_note_completion_marker(&tracker->detector);
	poll_soon(tracker);
	if (message->lost || message->event == SHIM_HELLO || message->event == SHIM_EXITING ||
	    message->event == SHIM_UNLINKED)
		return;
	if (!(message->flags & SHIM_FLAG_FOREIGN_PIDNS))
		writer_monitor_add(tracker->writers, message->pid);
	note_touched_path(tracker,
			  message->path2 && message->path2[0] ? message->path2 : message->path);
}

static void handle_directory_event(void *arg, const struct dir_event *event)
{
	struct tracker *tracker = arg;

	/* Our own files: the probe at the start, and our folder on a mount point. */
	if (text_starts(event->path, ".reprieve"))
		return;
	account_for_stall(tracker);
	detector_handle_kernel(&tracker->detector, event, clock_monotonic_ms());
	if (event->change == DIR_CLOSED_WRITE)
		writer_monitor_file_closed(tracker->writers);
	if (completion_marker_by_kernel(tracker->options.profile, event))
		detector_note_completion_marker(&tracker->detector);
	poll_soon(tracker);
	tracker->lost |= event->change == DIR_RESCAN;
	if (event->change != DIR_RESCAN && event->change != DIR_DELETED &&
	    event->change != DIR_MOVED_FROM)
		note_touched_path(tracker, event->path);
}

/* Hands in all queued events of the shim and the kernel. */
static void drain_evidence(void *arg)
{
	struct tracker *tracker = arg;

	account_for_stall(tracker);
	if (tracker->shim_channel)
		shim_channel_poll(tracker->shim_channel);
	directory_monitor_drain(tracker->directory);
}

/* --- deciding --- */

static enum shim_channel_fd query_descriptor(void *arg, int pid, int descriptor)
{
	struct tracker *tracker = arg;

	return shim_channel_query_fd(tracker->shim_channel, pid, descriptor);
}

static void apply_verdict(struct tracker *tracker, enum detector_verdict verdict)
{
	if (verdict != DETECTOR_COMPLETE && verdict != DETECTOR_TORN)
		return;
	tracker->saving = false;
	latest_checkpoint_update(&tracker->latest, &tracker->detector, verdict == DETECTOR_COMPLETE,
				 file_list_path_exists, tracker->options.workspace->directory);
	detector_acknowledge(&tracker->detector);
	if (verdict == DETECTOR_COMPLETE)
		tracker->options.on_complete(tracker->options.arg);
}

static void report_closed_files(struct tracker *tracker)
{
	uint64_t generation = detector_generation(&tracker->detector);

	if (tracker_timing_reports_due(&tracker->timing, generation, clock_monotonic_ms()) &&
	    (!tracker->options.closed || tracker->options.closed(tracker->options.arg)))
		tracker_timing_set_done(&tracker->timing, generation);
}

static void rearm(struct tracker *tracker, enum detector_verdict verdict, int64_t at_ms)
{
	int64_t next_ms = tracker_timing_next(&tracker->timing, verdict, at_ms,
					      detector_generation(&tracker->detector),
					      directory_monitor_is_open(tracker->directory),
					      clock_monotonic_ms());

	stall_clock_enable(&tracker->stall_clock,
			   verdict == DETECTOR_BUSY && at_ms != DETECTOR_NEVER);
	if (next_ms == CLOCK_NEVER)
		loop_disarm(tracker->options.loop, &tracker->timer);
	else
		loop_arm(tracker->options.loop, &tracker->timer, next_ms);
}

bool tracker_is_saving(struct tracker *tracker)
{
	int64_t at_ms;

	drain_evidence(tracker);
	return detector_poll(&tracker->detector, clock_monotonic_ms(), &at_ms) == DETECTOR_BUSY;
}

/* True: a scan that began after the last write confirms that nothing was written since. Without
 * scans the kernel's events are enough. */
static bool is_scan_current(struct tracker *tracker)
{
	return directory_monitor_is_current(tracker->directory,
					    detector_last_ms(&tracker->detector) +
						    tracker->options.quiet_ms / 2);
}

static void note_open_path(void *arg, const char *path)
{
	const char **name = arg;

	*name = path;
}

/* A file that stays open, or saves that follow each other too closely: then nothing is ever
 * complete, and that must be known. Warns once. */
static void warn_if_stuck(struct tracker *tracker, enum detector_verdict verdict)
{
	int64_t now_ms = clock_monotonic_ms(), quiet_ms = tracker->options.quiet_ms, busy_ms;
	const char *open = NULL;

	if (verdict != DETECTOR_BUSY) {
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
			 "is a log, move it or name it *.log",
			 (long long)busy_ms / 1000, open);
	else
		log_warn("no complete checkpoint for %lld s: the writes to %s never pause for "
			 "%.1f s; see --quiet-time",
			 (long long)busy_ms / 1000, tracker->options.workspace->directory,
			 (double)quiet_ms / 1000);
}

static void decide_completeness(struct tracker *tracker, bool at_once)
{
	enum detector_verdict verdict;
	int64_t at_ms;

	if (tracker->polling)
		return;
	tracker->polling = true;
	directory_monitor_open(tracker->directory, tracker->started);
	drain_evidence(tracker);
	if (tracker->lost)
		directory_monitor_rescan(tracker->directory);
	tracker->lost = false;
	writer_monitor_scan(tracker->writers);
	verdict = detector_poll(&tracker->detector, clock_monotonic_ms(), &at_ms);
	/* A writer that died, or a report that was lost, changes the verdict: look for both before
	 * it is final. */
	if (verdict != DETECTOR_NOTHING)
		writer_monitor_scan_dead(tracker->writers);
	if (tracker->shim_channel &&
	    (verdict == DETECTOR_BUSY || detector_needs_verify(&tracker->detector)))
		detector_verify(&tracker->detector, query_descriptor, tracker,
				clock_monotonic_ms());
	verdict = detector_poll(&tracker->detector, clock_monotonic_ms(), &at_ms);
	if (verdict == DETECTOR_COMPLETE && !at_once && !is_scan_current(tracker))
		verdict = DETECTOR_BUSY;
	if (verdict == DETECTOR_COMPLETE && tracker->checker)
		verdict = content_check_worker_poll(tracker->checker, &tracker->detector, at_once,
						    &at_ms);
	apply_verdict(tracker, verdict);
	/* `on_complete` may have taken long: a new burst may have begun. */
	if (verdict == DETECTOR_COMPLETE || verdict == DETECTOR_TORN)
		verdict = detector_poll(&tracker->detector, clock_monotonic_ms(), &at_ms);
	if (verdict == DETECTOR_BUSY)
		report_closed_files(tracker);
	warn_if_stuck(tracker, verdict);
	rearm(tracker, verdict, at_ms);
	tracker->polling = false;
}

void tracker_poll(struct tracker *tracker)
{
	decide_completeness(tracker, false);
}

static void timer_fired(struct timer *timer)
{
	tracker_poll(container_of(timer, struct tracker, timer));
}

/* --- life --- */

void tracker_new(const struct tracker_options *options, struct tracker **result)
{
	struct tracker *tracker = memory_new(sizeof(*tracker));
	struct err why;

	tracker->options = *options;
	tracker->timer.fired = timer_fired;
	stall_clock_init(&tracker->stall_clock, options->loop, options->quiet_ms);
	latest_checkpoint_init(&tracker->latest);
	detector_init(&tracker->detector, options->quiet_ms);
	tracker->directory = directory_monitor_new(&(struct directory_monitor_options){
		.loop = options->loop,
		.directory = options->workspace->directory,
		.quiet_ms = options->quiet_ms,
		.polls = options->polls,
		.said = handle_directory_event,
		.on_scanned = poll_soon,
		.arg = tracker,
	});
	tracker->writers = writer_monitor_new(&(struct writer_monitor_options){
		.loop = options->loop,
		.directory = options->workspace->directory,
		.detector = &tracker->detector,
		.drain = drain_evidence,
		.told = poll_soon,
		.arg = tracker,
	});
	if (options->looks)
		tracker->checker =
			content_check_worker_new(options->loop, options->workspace->directory,
						 options->profile, poll_soon, tracker);
	for (size_t i = 0; log_files_patterns[i]; i++)
		detector_ignore(&tracker->detector, log_files_patterns[i]);
	if (options->session_directory &&
	    shim_channel_open(options->loop, options->session_directory,
			      options->workspace->directory,
			      options->workspace->alias[0] ? options->workspace->alias : NULL,
			      handle_shim_message, tracker, &tracker->shim_channel, &why) < 0)
		snprintf(tracker->missing_evidence, sizeof(tracker->missing_evidence),
			 "the shim is not used: %.300s", why.text);
	/* Files that exist already are not a save of this job: `started` is still false. */
	*result = tracker;
	tracker_poll(tracker);
	tracker->latest.generation = detector_generation(&tracker->detector);
	tracker->started = true;
}

void tracker_free(struct tracker *tracker)
{
	if (!tracker)
		return;
	loop_disarm(tracker->options.loop, &tracker->timer);
	stall_clock_release(&tracker->stall_clock);
	writer_monitor_free(tracker->writers);
	directory_monitor_free(tracker->directory);
	content_check_worker_free(tracker->checker);
	if (tracker->shim_channel)
		shim_channel_close(tracker->shim_channel);
	detector_release(&tracker->detector);
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

const char *tracker_missing_evidence(const struct tracker *tracker)
{
	const char *said = directory_monitor_missing_evidence(tracker->directory);

	return said[0] ? said : tracker->missing_evidence;
}

void tracker_requested(struct tracker *tracker)
{
	drain_evidence(tracker);
	detector_requested(&tracker->detector, clock_monotonic_ms());
}

void tracker_process_ended(struct tracker *tracker, pid_t pid, int wait_status)
{
	enum writer_end end = WEXITSTATUS(wait_status) == 0 ? WRITER_END_EXITED : WRITER_END_FAILED;

	writer_monitor_process_ended(tracker->writers, pid,
				     WIFSIGNALED(wait_status) ? WRITER_END_KILLED : end);
	tracker_poll(tracker);
}

void tracker_job_ended(struct tracker *tracker, enum tracker_end end)
{
	bool clean = end == TRACKER_ENDED_CLEAN;

	directory_monitor_open(tracker->directory, tracker->started);
	drain_evidence(tracker);
	directory_monitor_scan_now(tracker->directory);
	/* Without a clean exit, only the likeness to the checkpoint before shows that no file is
	 * missing. */
	if (end == TRACKER_ENDED_AMBIGUOUS)
		clean = latest_checkpoint_is_like(&tracker->latest, &tracker->detector);
	detector_job_ended(&tracker->detector, clean, clock_monotonic_ms());
	decide_completeness(tracker, true);
}

const struct latest_checkpoint *tracker_latest_checkpoint(const struct tracker *tracker)
{
	return &tracker->latest;
}

bool tracker_still_complete(struct tracker *tracker, uint64_t generation)
{
	drain_evidence(tracker);
	return detector_generation(&tracker->detector) == generation;
}

bool tracker_is_settled(struct tracker *tracker, uint64_t *generation)
{
	int64_t at_ms;

	drain_evidence(tracker);
	*generation = detector_generation(&tracker->detector);
	return detector_poll(&tracker->detector, clock_monotonic_ms(), &at_ms) == DETECTOR_NOTHING;
}

typedef void each_fn(const struct detector *detector, path_set_fn *act, void *argument);

static char **list_paths(const struct tracker *tracker, each_fn *each)
{
	struct path_list list = {.paths = memory_new(sizeof(char *))};

	each(&tracker->detector, path_list_add, &list);
	return list.paths;
}

char **tracker_torn(struct tracker *tracker)
{
	return list_paths(tracker, detector_each_torn);
}

char **tracker_closed(struct tracker *tracker)
{
	return list_paths(tracker, detector_each_closed);
}

char **tracker_open(struct tracker *tracker)
{
	return list_paths(tracker, detector_each_open);
}

const struct recent_writers *tracker_writers(const struct tracker *tracker)
{
	return writer_monitor_recent(tracker->writers);
}
