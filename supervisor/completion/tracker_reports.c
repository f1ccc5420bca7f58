/* What the tracker tells besides verdicts: what is closed, running, under way, torn or stuck. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "tracker_state.h"

#include <stdlib.h>

#define STUCK_SAVE_WARN_MS 30000
/* After a list that took longer than this to write, the next one waits this many times as long. */
#define SLOW_MS 10
#define PAUSE_TIMES 2

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

/* What the reports that nobody has read are judged by at the next start (left_reports.h). */
static void leave_what_is_known(struct tracker *tracker)
{
	auto_json json_t *known = NULL;
	auto_free char *text = NULL;

	if (!tracker->knows_more)
		return;
	tracker->knows_more = false;
	known = detector_known_json(&tracker->detector);
	text = json_dumps(known, JSON_COMPACT);
	if (text)
		shim_channel_leave_known(tracker->shim_channel, text);
}

/* The list tells of all that was reported so far. A member of a gang whose directory another one
 * keeps writes none. */
static void note_listed(struct tracker *tracker)
{
	if (!tracker->shim_channel || tracker->options.workspace->kept_by_other)
		return;
	leave_what_is_known(tracker);
	shim_channel_note_listed(tracker->shim_channel,
				 detector_first_position(&tracker->detector,
							 shim_channel_position(
								 tracker->shim_channel)));
}

static bool are_equal(char *const *a, char *const *b)
{
	while (a && *a && text_equal(*a, *b))
		a++, b++;
	return a && !*a && !*b;
}

/* For the next start, should this one be killed: at once, and then not for a while as long as its
 * writing took. Best effort: a disk that is full or slow delays the training no further. */
void tracker_report_under_way(struct tracker *tracker, bool at_once)
{
	int64_t now_ms = clock_monotonic_ms(), took_ms;
	char **paths = detector_list(&tracker->detector, detector_each_under_way);
	bool changed = !are_equal(tracker->listed, paths);
	struct err err;

	tracker->listed_wakes_ms = changed ? tracker->listed_next_ms : INT64_MAX;
	if (!changed || (!at_once && now_ms < tracker->listed_next_ms)) {
		path_list_free(paths);
		if (!changed)
			note_listed(tracker);
		return;
	}
	path_list_free(tracker->listed);
	tracker->listed = paths;
	if (workspace_write_under_way(tracker->options.workspace, paths, &err) < 0)
		log_debug("cannot record which files are being written: %s", err.text);
	else
		note_listed(tracker);
	took_ms = clock_monotonic_ms() - now_ms;
	tracker->listed_next_ms =
		now_ms + took_ms + (took_ms > SLOW_MS ? PAUSE_TIMES * took_ms : 0);
	tracker->listed_wakes_ms = INT64_MAX;
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
		log_warn("no complete checkpoint for %lld s: %s is open for writing; if it always "
			 "is, say so with --running '%s'",
			 (long long)busy_ms / 1000, open, open);
	else
		log_warn("no complete checkpoint for %lld s: the writes to %s never pause for "
			 "%.1f s; see --quiet-time",
			 (long long)busy_ms / 1000, tracker->options.workspace->directory,
			 (double)quiet_ms / 1000);
}

void tracker_find_torn(const struct tracker *tracker, struct torn_files *found)
{
	const struct detector *detector = tracker ? &tracker->detector : NULL;
	char *directory = tracker ? tracker->options.workspace->directory : NULL;
	char **torn = detector ? detector_list_marked(detector, FILE_DAMAGED) : NULL;
	char **unsaved = detector ? detector_list(detector, detector_each_unsaved) : NULL;

	*found = (struct torn_files){0};
	for (size_t i = 0; torn && torn[i]; i++) {
		if (!file_list_path_exists(directory, torn[i]) || found->count++ > 0)
			continue;
		found->first = text_copy(torn[i]);
		found->why = detector_why(detector, torn[i]);
	}
	for (size_t i = 0; unsaved && unsaved[i] && !found->went_on; i++)
		found->went_on = file_list_path_exists(directory, unsaved[i]);
	path_list_free(torn);
	path_list_free(unsaved);
}

void torn_files_release(struct torn_files *files)
{
	free(files->first);
	*files = (struct torn_files){0};
}

/* --- for people --- */

/* Of the paths of one list. */
#define PATHS_MOST 10

static const char *const state_names[] = {
	[CHECKPOINT_EMPTY] = "empty",
	[CHECKPOINT_UNDER_WAY] = "under way",
	[CHECKPOINT_COMPLETE] = "complete",
	[CHECKPOINT_TORN] = "torn",
};

static void add_path(json_t *list, const char *path)
{
	json_t *text = json_array_size(list) < PATHS_MOST ? json_string(path) : NULL;

	/* NULL: there are many; or the path is no UTF-8. */
	if (text)
		json_array_append_new(list, text);
}

static json_t *describe_checkpoint(const struct detector *detector,
				   const struct checkpoint *checkpoint)
{
	json_t *name = json_string(*checkpoint->key ? checkpoint->key : "(fixed names)");
	json_t *open = json_array(), *incomplete = json_array();
	enum verdict_reason reason =
		checkpoint->state == CHECKPOINT_UNDER_WAY
			? verdict_reason_shown(VERDICT_UNDER_WAY, checkpoint->reason)
			: checkpoint->reason;

	each_file (file, checkpoint) {
		if (!(file->marks & FILE_RUNNING) && detector_file_is_open(detector, file))
			add_path(open, file->path);
		if (file->marks & FILE_DAMAGED)
			add_path(incomplete, file->path);
	}

	return json_pack("{s:o, s:s, s:s, s:s, s:o, s:I, s:I, s:o, s:o}", "checkpoint",
			 /* a path that is no UTF-8 */
			 name ? name : json_string("?"), "verdict", state_names[checkpoint->state],
			 "reason", verdict_reason_name(reason), "why", verdict_reason_text(reason),
			 "step", json_integer_or_null(checkpoint_step_of(checkpoint)), "files",
			 (json_int_t)checkpoint->file_count, "missing",
			 (json_int_t)detector_count_missing(checkpoint), "open", open, "incomplete",
			 incomplete);
}

json_t *tracker_checkpoints_json(struct tracker *tracker)
{
	const struct detector *detector = &tracker->detector;
	json_t *list = json_array();

	tracker_drain(tracker);
	each_checkpoint (checkpoint, &detector->table)
		if (checkpoint->state != CHECKPOINT_EMPTY &&
		    !(checkpoint_is_alone(checkpoint) && checkpoint->state == CHECKPOINT_COMPLETE))
			json_array_append_new(list, describe_checkpoint(detector, checkpoint));
	return list;
}
