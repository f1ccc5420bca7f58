/* decide_completeness() is the heart: it hands all queued evidence to the detector, asks which
 * checkpoints are decided, has their contents checked, and acts upon the verdicts. */
#include "tracker.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "checkpoint_report.h"
#include "content_check_worker.h"
#include "detector.h"
#include "monitor/monitor.h"
#include "workspace/workspace.h"
#include "writer_monitor.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define STUCK_SAVE_WARN_MS 30000
/* With its NUL: https://www.sqlite.org/fileformat.html, 1.3. */
#define SQLITE_MAGIC "SQLite format 3"
/* Polling period for changes that cause no event: the directory appears, an unobserved writer
 * dies. */
#define POLL_MS 1000
/* Shortest time between two reports of closed files. */
#define REPORT_MS 200
/* The list of what is under way is written at once, and then not for this many times as long as
 * that took: a slow disk is left in peace. */
#define UNDER_WAY_TIMES 2
/* Marks of `under_way`. */
#define REPORTED 1u

struct tracker {
	struct tracker_options options;
	struct directory_monitor *directory;
	struct shim_channel *shim_channel; /* NULL: no shim */
	struct writer_monitor *writers;
	struct detector detector;
	struct checker *checker; /* NULL: contents are not checked */
	struct latest_checkpoint latest;
	/* key of the checkpoint that became complete last */
	char *latest_key;
	struct timer timer;
	struct stall_clock stall_clock;
	/* everything written up to this generation has been reported, the last time at */
	uint64_t reported_generation;
	int64_t reported_ms;
	uint64_t reported_running;
	/* the list that was reported last */
	struct path_set under_way;
	bool under_way_reported;
	/* it has changed, and is reported at under_way_ms */
	bool under_way_due;
	int64_t under_way_ms;
	/* a save that was under way at the request: it is the answer if nothing follows until then;
	 * 0: there is none */
	int64_t answered_ms;
	/* since when saves are under way without a verdict; 0: none is */
	int64_t busy_since_ms;
	bool warned_stuck;
	/* why there is no shim */
	char missing_evidence[400];
	/* `saving` was called, and no verdict came since */
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
	if (tracker->saving || detector_is_running(&tracker->detector, path) ||
	    !detector_is_busy(&tracker->detector))
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
	detector_note_saved(&tracker->detector, message->pid, message->step, clock_monotonic_ms());
	poll_soon(tracker);
}

static const char *final_path(const struct shim_message *message)
{
	return message->path2 && message->path2[0] ? message->path2 : message->path;
}

/* The report may be of the last write of a framework's save: see profile.h. */
static void note_marker_by_shim(struct tracker *tracker, const struct shim_message *message)
{
	const struct profile *profile = tracker->options.profile;
	bool sentinel =
		message->event == SHIM_UNLINKED && profile_is_sentinel(profile, message->path);
	bool marker = (message->event == SHIM_CLOSED || message->event == SHIM_RENAMED) &&
		      profile_is_completion_marker(profile, final_path(message));

	if (sentinel || marker)
		detector_note_marker(&tracker->detector,
				     sentinel ? message->path : final_path(message));
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
	if (message->event != SHIM_OPENED)
		directory_monitor_drain(tracker->directory);
	detector_handle_shim(&tracker->detector, message, clock_monotonic_ms());
	poll_soon(tracker);
	if (message->lost || message->event == SHIM_HELLO || message->event == SHIM_EXITING)
		return;
	note_marker_by_shim(tracker, message);
	if (message->event == SHIM_UNLINKED)
		return;
	if (!(message->flags & SHIM_FLAG_FOREIGN_PIDNS))
		writer_monitor_add(tracker->writers, message->pid);
	note_touched_path(tracker, final_path(message));
}

static bool is_symlink(const struct tracker *tracker, const char *path)
{
	auto_free char *full = text_format("%s/%s", tracker->options.workspace->directory, path);
	struct stat status;

	return lstat(full, &status) == 0 && S_ISLNK(status.st_mode);
}

static void note_marker_by_kernel(struct tracker *tracker, const struct dir_event *event)
{
	const struct profile *profile = tracker->options.profile;
	bool written = event->change == DIR_CLOSED_WRITE || event->change == DIR_MOVED_TO;

	if ((written && profile_is_completion_marker(profile, event->path)) ||
	    (event->change == DIR_DELETED && profile_is_sentinel(profile, event->path)))
		detector_note_marker(&tracker->detector, event->path);
}

static void handle_directory_event(void *arg, const struct dir_event *event)
{
	struct tracker *tracker = arg;
	struct dir_event seen = *event;

	/* Our own files: the probe at the start, and our folder on a mount point. */
	if (text_starts(event->path, ".reprieve"))
		return;
	account_for_stall(tracker);
	if (event->change == DIR_CREATED || event->change == DIR_MOVED_TO)
		seen.symlink = is_symlink(tracker, event->path);
	detector_handle_kernel(&tracker->detector, &seen, clock_monotonic_ms());
	if (event->change == DIR_CLOSED_WRITE)
		writer_monitor_file_closed(tracker->writers);
	note_marker_by_kernel(tracker, event);
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

static uint64_t size_of_file(void *arg, const char *path)
{
	const struct tracker *tracker = arg;
	auto_free char *full = text_format("%s/%s", tracker->options.workspace->directory, path);
	struct stat status;

	return lstat(full, &status) == 0 ? (uint64_t)status.st_size : 0;
}

static int64_t file_written(void *arg, const char *path)
{
	const struct tracker *tracker = arg;
	auto_free char *full = text_format("%s/%s", tracker->options.workspace->directory, path);
	struct stat status;

	if (lstat(full, &status) < 0)
		return 0;
	return (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
}

static bool file_is_there(void *arg, const char *path)
{
	const struct tracker *tracker = arg;

	return file_list_path_exists(tracker->options.workspace->directory, path);
}

static bool is_temporary(void *arg, const char *path)
{
	const struct tracker *tracker = arg;

	return profile_is_temporary_path(tracker->options.profile, path);
}

static bool is_database(void *arg, const char *path)
{
	const struct tracker *tracker = arg;
	auto_free char *full = text_format("%s/%s", tracker->options.workspace->directory, path);
	auto_close int fd = open(full, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
	char magic[sizeof(SQLITE_MAGIC)];

	return fd >= 0 && read(fd, magic, sizeof(magic)) == (ssize_t)sizeof(magic) &&
	       memcmp(magic, SQLITE_MAGIC, sizeof(magic)) == 0;
}

/* --- deciding --- */

static enum shim_channel_fd query_descriptor(void *arg, int pid, int descriptor)
{
	struct tracker *tracker = arg;

	return shim_channel_query_fd(tracker->shim_channel, pid, descriptor);
}

static int64_t step_of(const struct checkpoint *checkpoint)
{
	int64_t step = checkpoint->step;

	if (step >= 0)
		return step;
	if (checkpoint->number >= 0)
		return checkpoint->number;
	for (const struct tracked_file *file = checkpoint->files; file; file = file->sibling) {
		int64_t here = (file->marks & FILE_FRESH) ? step_of_path(file->path) : -1;

		step = here > step ? here : step;
	}
	return step;
}

/* Makes it the latest one. */
static void note_complete(struct tracker *tracker, const struct checkpoint *checkpoint,
			  int64_t now_ms)
{
	struct latest_checkpoint *latest = &tracker->latest;
	int64_t step = step_of(checkpoint), request_ms = tracker->detector.request_ms;

	latest->generation++;
	latest->written_ms = checkpoint->last_ms;
	if (step >= 0)
		latest->step = step;
	latest->fresh = request_ms != DETECTOR_NEVER && checkpoint->begun_ms >= request_ms;
	tracker->answered_ms = 0;
	if (!latest->fresh && request_ms != DETECTOR_NEVER && checkpoint->last_ms >= request_ms)
		tracker->answered_ms = now_ms + tracker->options.quiet_ms;
	free(tracker->latest_key);
	tracker->latest_key = text_copy(checkpoint->key);
}

static void apply_verdict(struct tracker *tracker, struct checkpoint *checkpoint,
			  struct judgement judgement)
{
	int64_t now_ms = clock_monotonic_ms();
	bool reduced = checkpoint->reduced;

	log_debug("%s: %s (%s)", *checkpoint->key ? checkpoint->key : "files with fixed names",
		  judgement.verdict == VERDICT_COMPLETE ? "complete" : "torn",
		  verdict_reason_name(judgement.reason));
	if (judgement.reason == REASON_DEFECT)
		content_check_worker_log(tracker->checker, true);
	if (judgement.verdict == VERDICT_COMPLETE && !reduced)
		note_complete(tracker, checkpoint, now_ms);
	detector_decide(&tracker->detector, checkpoint, judgement);
	tracker->saving = false;
	tracker->busy_since_ms = 0;
	if (judgement.verdict == VERDICT_COMPLETE && !reduced)
		tracker->options.on_complete(tracker->options.arg);
}

/* True: a scan that began after the last write confirms that nothing was written since. Without
 * scans the kernel's events are enough. */
static bool is_scan_current(struct tracker *tracker, const struct checkpoint *checkpoint)
{
	return directory_monitor_is_current(tracker->directory,
					    checkpoint->last_ms + tracker->options.quiet_ms / 2);
}

/* Verdict of one that is decided as far as its files are known; its contents may change that. */
static struct judgement check_contents(struct tracker *tracker, struct checkpoint *checkpoint,
				       struct judgement judgement, bool at_once)
{
	const struct judgement waits = {VERDICT_UNDER_WAY, REASON_MOVING, INT64_MAX};

	if (judgement.verdict != VERDICT_COMPLETE)
		return judgement;
	if (!at_once && !is_scan_current(tracker, checkpoint))
		return waits;
	if (!tracker->checker)
		return judgement;
	if (!content_check_worker_run(tracker->checker, &tracker->detector, checkpoint, at_once))
		return waits;
	judgement = detector_judge(&tracker->detector, checkpoint, clock_monotonic_ms());
	if (judgement.reason == REASON_PENDING)
		content_check_worker_log(tracker->checker, false);
	return judgement;
}

/* Acts on all verdicts. Returns when to judge again. */
static int64_t apply_verdicts(struct tracker *tracker, bool at_once)
{
	struct judgement judgement;
	struct checkpoint *checkpoint;
	int64_t at_ms;

	while ((checkpoint = detector_next_decided(&tracker->detector, clock_monotonic_ms(),
						   &judgement, &at_ms))) {
		judgement = check_contents(tracker, checkpoint, judgement, at_once);
		/* One whose check has not ended keeps the others waiting: they are younger. */
		if (judgement.verdict == VERDICT_UNDER_WAY && judgement.wait_ms == INT64_MAX)
			return clock_monotonic_ms() + POLL_MS;
		if (judgement.verdict != VERDICT_UNDER_WAY)
			apply_verdict(tracker, checkpoint, judgement);
	}
	return at_ms;
}

/* A save that was under way when it was asked for, and after which nothing came. */
static void note_late_answer(struct tracker *tracker)
{
	if (tracker->answered_ms == 0 || clock_monotonic_ms() < tracker->answered_ms)
		return;
	tracker->answered_ms = 0;
	if (detector_is_busy(&tracker->detector))
		return;
	tracker->latest.fresh = true;
	tracker->options.on_complete(tracker->options.arg);
}

static void report_closed_files(struct tracker *tracker)
{
	uint64_t generation = tracker->detector.generation;
	int64_t now_ms = clock_monotonic_ms();

	if (!detector_is_busy(&tracker->detector) || generation == tracker->reported_generation ||
	    now_ms - tracker->reported_ms < REPORT_MS)
		return;
	tracker->reported_ms = now_ms;
	if (!tracker->options.closed || tracker->options.closed(tracker->options.arg))
		tracker->reported_generation = generation;
}

static void report_running_files(struct tracker *tracker)
{
	uint64_t generation = tracker->detector.running_generation;

	if (generation == tracker->reported_running || !tracker->started)
		return;
	tracker->reported_running = generation;
	if (tracker->options.on_running)
		tracker->options.on_running(tracker->options.arg, tracker->detector.running_path);
}

/* A numbered directory with a slash at its end, and each file that does not lie there. */
static void each_of_numbered(const struct checkpoint *checkpoint, path_set_fn *act, void *argument)
{
	size_t length = checkpoint->in_directory ? strlen(checkpoint->key) : 0;

	if (length > 0)
		act(argument, checkpoint->key);
	for (const struct tracked_file *file = checkpoint->files; file; file = file->sibling)
		if (length == 0 || strncmp(file->path, checkpoint->key, length) != 0)
			act(argument, file->path);
}

static void each_under_way(const struct detector *detector, path_set_fn *act, void *argument)
{
	for (const struct checkpoint *checkpoint = detector->table.checkpoints; checkpoint;
	     checkpoint = checkpoint->sibling) {
		bool touched = checkpoint->state == CHECKPOINT_UNDER_WAY ||
			       checkpoint->state == CHECKPOINT_TORN;

		if (*checkpoint->key && touched)
			each_of_numbered(checkpoint, act, argument);
		for (const struct tracked_file *file = checkpoint->files; file && !*checkpoint->key;
		     file = file->sibling)
			if (file->marks & (FILE_FRESH | FILE_TORN | FILE_REJECTED))
				act(argument, file->path);
	}
}

struct under_way_change {
	const struct path_set *reported;
	size_t same;
	bool any_new;
};

static void compare_path(void *argument, const char *path)
{
	struct under_way_change *change = argument;
	bool same = path_set_marks(change->reported, path) & REPORTED;

	change->same += same;
	change->any_new |= !same;
}

static void mark_reported(void *argument, const char *path)
{
	path_set_mark(argument, path, REPORTED);
}

/* What was newly begun must be known to the next start within milliseconds, whatever kills us. That
 * something is over can wait. */
static void report_under_way(struct tracker *tracker, bool at_once)
{
	struct under_way_change change = {.reported = &tracker->under_way};
	int64_t now_ms = clock_monotonic_ms(), took_ms;

	if (!tracker->options.on_under_way)
		return;
	each_under_way(&tracker->detector, compare_path, &change);
	tracker->under_way_due = !tracker->under_way_reported || change.any_new ||
				 change.same < tracker->under_way.count;
	if (!tracker->under_way_due)
		return;
	if (!at_once && now_ms < tracker->under_way_ms)
		return;
	tracker->under_way_due = false;
	tracker->under_way_reported = true;
	path_set_release(&tracker->under_way);
	each_under_way(&tracker->detector, mark_reported, &tracker->under_way);
	tracker->options.on_under_way(tracker->options.arg);
	took_ms = clock_monotonic_ms() - now_ms;
	tracker->under_way_ms = now_ms + took_ms + UNDER_WAY_TIMES * took_ms;
}

static void rearm(struct tracker *tracker, int64_t at_ms)
{
	bool busy = detector_is_busy(&tracker->detector);
	int64_t now_ms = clock_monotonic_ms(), next_ms = at_ms;

	if (tracker->under_way_due && tracker->under_way_ms < next_ms)
		next_ms = tracker->under_way_ms;
	if (tracker->answered_ms > 0 && tracker->answered_ms < next_ms)
		next_ms = tracker->answered_ms;
	if ((busy || !directory_monitor_is_open(tracker->directory)) && next_ms > now_ms + POLL_MS)
		next_ms = now_ms + POLL_MS;
	if (busy && tracker->detector.generation != tracker->reported_generation &&
	    next_ms > now_ms + REPORT_MS)
		next_ms = now_ms + REPORT_MS;
	stall_clock_enable(&tracker->stall_clock, busy && at_ms != DETECTOR_NEVER);
	if (next_ms == DETECTOR_NEVER)
		loop_disarm(tracker->options.loop, &tracker->timer);
	else
		loop_arm(tracker->options.loop, &tracker->timer, next_ms);
}

static void note_open_path(void *arg, const char *path)
{
	const char **name = arg;

	*name = path;
}

/* A file that stays open, or saves that follow each other too closely: then nothing is ever
 * complete, and that must be known. Warns once. */
static void warn_if_stuck(struct tracker *tracker)
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

static void gather_evidence(struct tracker *tracker)
{
	bool busy;

	directory_monitor_open(tracker->directory, tracker->started);
	drain_evidence(tracker);
	/* Before the searches and checks, which take their time. */
	report_under_way(tracker, false);
	if (tracker->lost)
		directory_monitor_rescan(tracker->directory);
	tracker->lost = false;
	writer_monitor_scan(tracker->writers);
	busy = detector_is_busy(&tracker->detector);
	/* A writer that died, or a report that was lost, changes the verdict: look for both before
	 * it is final. */
	if (busy)
		writer_monitor_scan_dead(tracker->writers);
	if (tracker->shim_channel && (busy || detector_needs_verify(&tracker->detector)))
		detector_verify(&tracker->detector, query_descriptor, tracker,
				clock_monotonic_ms());
}

static void decide_completeness(struct tracker *tracker, bool at_once)
{
	int64_t at_ms;

	if (tracker->polling)
		return;
	tracker->polling = true;
	gather_evidence(tracker);
	at_ms = apply_verdicts(tracker, at_once);
	note_late_answer(tracker);
	report_closed_files(tracker);
	report_running_files(tracker);
	report_under_way(tracker, at_once);
	warn_if_stuck(tracker);
	rearm(tracker, at_ms);
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

bool tracker_is_saving(struct tracker *tracker)
{
	drain_evidence(tracker);
	return detector_is_busy(&tracker->detector);
}

int64_t tracker_last_write_ms(const struct tracker *tracker)
{
	return tracker->detector.last_ms;
}

bool tracker_is_replacing(const struct tracker *tracker)
{
	return detector_is_replacing(&tracker->detector);
}

bool tracker_has_only_running_files(const struct tracker *tracker)
{
	return !detector_has_ordinary_files(&tracker->detector);
}

uint64_t tracker_running_generation(const struct tracker *tracker)
{
	return tracker->detector.running_generation;
}

/* --- a snapshot --- */

typedef void each_fn(const struct detector *detector, path_set_fn *act, void *argument);

static char **list_paths(const struct tracker *tracker, each_fn *each)
{
	struct path_list list = {.paths = memory_new(sizeof(char *))};

	each(&tracker->detector, path_list_add, &list);
	return list.paths;
}

void tracker_plan(struct tracker *tracker, struct snapshot_plan *plan)
{
	drain_evidence(tracker);
	*plan = (struct snapshot_plan){
		.generation = tracker->detector.generation,
		.running_generation = tracker->detector.running_generation,
		.excluded = list_paths(tracker, detector_each_excluded),
		.running = list_paths(tracker, detector_each_running),
		.key = text_copy(tracker->latest_key ? tracker->latest_key : ""),
		.dropped = memory_new(sizeof(char *)),
	};
}

void snapshot_plan_release(struct snapshot_plan *plan)
{
	path_list_free(plan->excluded);
	path_list_free(plan->running);
	path_list_free(plan->dropped);
	free(plan->key);
	*plan = (struct snapshot_plan){0};
}

bool tracker_confirm(struct tracker *tracker, struct snapshot_plan *plan, bool last_try)
{
	const struct detector *detector = &tracker->detector;
	struct path_list dropped = {.paths = memory_new(sizeof(char *))};

	drain_evidence(tracker);
	if (detector->generation == plan->generation) {
		free(dropped.paths);
		return true;
	}
	detector_each_changed(detector, plan->generation, path_list_add, &dropped);
	path_list_free(plan->dropped);
	plan->dropped = dropped.paths;
	if (*plan->key && detector_has_changed(detector, plan->key, plan->generation))
		return false;
	return last_try || !detector_has_changed(detector, "", plan->generation);
}

bool snapshot_plan_lists(char *const *paths, const char *path)
{
	for (; paths && *paths; paths++)
		if (path_set_is_below(path, *paths))
			return true;
	return false;
}

json_t *tracker_signatures(const struct tracker *tracker)
{
	return detector_signatures_json(&tracker->detector);
}

char **tracker_torn(struct tracker *tracker)
{
	return list_paths(tracker, detector_each_torn);
}

char **tracker_under_way(const struct tracker *tracker)
{
	return list_paths(tracker, each_under_way);
}

char **tracker_closed(struct tracker *tracker)
{
	return list_paths(tracker, detector_each_closed);
}

char **tracker_open(struct tracker *tracker)
{
	return list_paths(tracker, detector_each_open);
}

json_t *tracker_checkpoints_json(struct tracker *tracker)
{
	drain_evidence(tracker);
	return checkpoint_report(&tracker->detector);
}

const struct recent_writers *tracker_writers(const struct tracker *tracker)
{
	return writer_monitor_recent(tracker->writers);
}

/* --- life --- */

static void open_shim_channel(struct tracker *tracker)
{
	const struct workspace *workspace = tracker->options.workspace;
	struct err why;

	if (tracker->options.session_directory &&
	    shim_channel_open(tracker->options.loop, tracker->options.session_directory,
			      workspace->directory, workspace->alias[0] ? workspace->alias : NULL,
			      handle_shim_message, tracker, &tracker->shim_channel, &why) < 0)
		snprintf(tracker->missing_evidence, sizeof(tracker->missing_evidence),
			 "the shim is not used: %.300s", why.text);
}

void tracker_new(const struct tracker_options *options, struct tracker **result)
{
	struct tracker *tracker = memory_new(sizeof(*tracker));

	tracker->options = *options;
	tracker->timer.fired = timer_fired;
	tracker->latest.step = -1;
	stall_clock_init(&tracker->stall_clock, options->loop, options->quiet_ms);
	detector_init(&tracker->detector, options->quiet_ms, options->patterns);
	tracker->detector.size = size_of_file;
	tracker->detector.written = file_written;
	tracker->detector.exists = file_is_there;
	tracker->detector.is_temporary = is_temporary;
	tracker->detector.is_database = is_database;
	tracker->detector.arg = tracker;
	detector_load_signatures(&tracker->detector, options->signatures);
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
		tracker->checker = content_check_worker_new(&(struct checker_options){
			.loop = options->loop,
			.directory = options->workspace->directory,
			.profile = options->profile,
			.patterns = options->patterns,
			.ready = poll_soon,
			.arg = tracker,
		});
	open_shim_channel(tracker);
	/* Files that exist already are not a save of this job: `started` is still false. */
	*result = tracker;
	tracker_poll(tracker);
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
	path_set_release(&tracker->under_way);
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

const char *tracker_missing_evidence(const struct tracker *tracker)
{
	const char *said = directory_monitor_missing_evidence(tracker->directory);

	return said[0] ? said : tracker->missing_evidence;
}

void tracker_requested(struct tracker *tracker)
{
	drain_evidence(tracker);
	tracker->answered_ms = 0;
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
	static const enum job_end ends[] = {
		[TRACKER_ENDED_CLEAN] = JOB_END_CLEAN,
		[TRACKER_ENDED_AMBIGUOUS] = JOB_END_AMBIGUOUS,
		[TRACKER_ENDED_CRASHED] = JOB_END_CRASHED,
	};

	directory_monitor_open(tracker->directory, tracker->started);
	drain_evidence(tracker);
	directory_monitor_scan_now(tracker->directory);
	detector_job_ended(&tracker->detector, ends[end], clock_monotonic_ms());
	decide_completeness(tracker, true);
}

const struct latest_checkpoint *tracker_latest_checkpoint(const struct tracker *tracker)
{
	return &tracker->latest;
}
