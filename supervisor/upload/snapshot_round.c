/* Of a gang: a snapshot waits for its round, is a part of it, and waits for those of the others. */
#include "snapshot_run.h"

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/held_directory.h"
#include "base/json.h"
#include "base/log.h"
#include "workspace/workspace.h"

#include <stdlib.h>
#include <string.h>

/* A part of a gang's snapshot is of one checkpoint, whole, and holds nothing newer: the members
 * would resume from different steps. Unless it has no checkpoint, or no other one comes. */
bool snapshot_round_refuse(struct snapshot_run *run)
{
	struct snapshot_outcome *report = &run->report;

	if (report->round.older) {
		if (!report->never)
			return false;
		err_set(&report->err, ERR_RETRY,
			"the checkpoint of step %lld is not there any more",
			(long long)report->round.step);
		report->result.id = report->id;
		report->not_whole = true;
		return true;
	}
	if (!run->owner->options.of_gang || report->round.beside || report->round.final ||
	    !(report->lacks_newest || run->moved))
		return false;
	err_set(&report->err, ERR_RETRY, "the checkpoint of step %lld is not whole",
		(long long)report->checkpoint.step);
	report->result.id = report->id;
	report->not_whole = true;
	report->result.changed = run->moved;
	report->never = report->lacks_newest && !run->moved;
	return true;
}

void snapshot_round_go_back(struct snapshot_run *run)
{
	struct snapshot_outcome *report = &run->report;
	char *directory = run->owner->options.workspace->directory;
	struct path_list older = {.paths = NULL};

	if (!report->round.older)
		return;
	report->never = true;
	for (char **path = run->plan.complete; path && *path; path++) {
		int64_t number = checkpoint_name_parse(*path).number;

		path_list_add(number > report->round.step ? &run->plan.excluded : &older, *path);
		if (number == report->round.step && file_list_path_exists(directory, *path))
			report->never = false;
	}
	path_list_free(run->plan.complete);
	run->plan.complete = older.paths;
	report->lacks_newest = true;
	report->checkpoint.step = report->round.step;
	report->checkpoint.reported_step = -1;
	report->checkpoint.written_ms = report->round.written_ms;
}

/* --- one directory for several members --- */

/* Of the checkpoint that the plan is about: what was seen to be closed here. */
static json_t *list_own_files(const struct snapshot_run *run)
{
	int64_t newest = run->plan.key ? checkpoint_name_parse(run->plan.key).number : -1;
	json_t *paths = json_array();

	for (char **path = run->plan.complete; path && *path && newest >= 0; path++)
		if (checkpoint_name_parse(*path).number == newest)
			json_array_append_new(paths, json_string(*path));
	return paths;
}

bool snapshot_round_find_kept(struct snapshot_run *run)
{
	const struct snapshot_queue_options *options = &run->owner->options;
	struct snapshot_outcome *report = &run->report;

	if (options->kept_by_other && !report->round.beside)
		run->kept = list_own_files(run);
	if (!options->sharers)
		return true;
	run->kept = json_array();
	for (uint32_t i = 0; i < options->members; i++) {
		auto_json json_t *paths = NULL;

		if (!options->sharers[i])
			continue;
		if (storage_gang_read_kept(options->storage, report->id, i, &paths,
					   &run->owner->cancel, &report->err) < 0)
			return false;
		json_array_extend(run->kept, paths);
	}
	return true;
}

bool snapshot_round_has_kept(const struct snapshot_run *run)
{
	json_t *item;
	size_t i;

	json_array_foreach(run->kept, i, item)
	{
		const char *path = json_string_value(item);

		if (path && !path_set_marks(&run->walked.paths, path)) {
			log_debug("%s, which another member has written, is not seen yet", path);
			return false;
		}
	}
	return true;
}

bool snapshot_round_is_settled(void *arg)
{
	struct snapshot_run *run = arg;
	const struct snapshot_queue_options *options = &run->owner->options;

	atomic_store(&run->awaits_others, true);
	return options->round_is_settled(options->arg, run->report.id.sequence);
}

bool snapshot_queue_wants_round(const struct snapshot_queue *queue)
{
	return queue->options.of_gang && queue->waiting && !queue->running;
}

void snapshot_queue_take_round(struct snapshot_queue *queue, const struct snapshot_round *round)
{
	if (!snapshot_queue_wants_round(queue))
		return;
	queue->waiting = false;
	queue->next.generation = round->generation;
	snapshot_queue_start(queue, &queue->next, round);
}

void snapshot_queue_give_beside(struct snapshot_queue *queue, const struct snapshot_round *round)
{
	const struct checkpoint none = {.step = -1};

	if (queue->running)
		return;
	snapshot_queue_start(queue, &none, round);
	queue->running->report.unasked = true;
}

bool snapshot_lies_beside(const struct snapshot_run *run, const char *path)
{
	const struct workspace *workspace = run->owner->options.workspace;
	auto_close int directory = -1;

	if (checkpoint_name_parse(path).unit_length == 0 &&
	    (companion_file_is(path) || snapshot_is_running_path((void *)run, path)))
		return true;
	directory = held_directory_open(workspace->directory, NULL);
	return directory >= 0 && beneath_is_directory(directory, path);
}

void snapshot_queue_note_committed(struct snapshot_queue *queue, uint32_t round)
{
	queue->newest = (struct snapshot_id){queue->options.attempt, round};
}

bool snapshot_queue_is_running(const struct snapshot_queue *queue)
{
	return queue->running;
}
