#include "snapshot_plan.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "detector.h"
#include "frameworks/frameworks.h"
#include "workspace/workspace.h"

#include <stdlib.h>

/* Of the fixed names: one that was complete and has been written over, whole or not: then what is
 * left of them is no checkpoint. What is written beside them, as under temporary names, takes
 * nothing away. */
static bool is_written_over(const struct tracked_file *file)
{
	const unsigned both = FILE_NEWEST | FILE_WRITTEN;

	return !(file->marks & FILE_RUNNING) && (file->marks & both) == both;
}

bool snapshot_plan_would_lack_newest(const struct detector *detector, const char *newest)
{
	const struct checkpoint *checkpoint = checkpoint_table_find_key(&detector->table, newest);

	/* One that was deleted is nobody's loss. */
	if (!checkpoint || checkpoint->state == CHECKPOINT_COMPLETE ||
	    checkpoint->state == CHECKPOINT_EMPTY)
		return false;
	if (*checkpoint->key)
		return true;
	each_file (file, checkpoint)
		if (is_written_over(file))
			return true;
	return false;
}

/* The set is not whole: what is left of it, and what has been written of the next one. */
static bool is_of_part(const struct tracked_file *file)
{
	const unsigned out = FILE_FRESH | FILE_DAMAGED | FILE_SLOW | FILE_RUNNING;

	return !(file->marks & out) && (file->marks & (FILE_NEWEST | FILE_WRITTEN));
}

static bool has_complete_numbered(const struct detector *detector)
{
	each_checkpoint (checkpoint, &detector->table)
		if (checkpoint_stands(checkpoint) && !checkpoint_is_alone(checkpoint))
			return true;
	return false;
}

bool snapshot_plan_would_hold_less(const struct detector *detector, const char *newest)
{
	const struct checkpoint *fixed = checkpoint_table_find_key(&detector->table, "");

	if (!newest || *newest || !snapshot_plan_would_lack_newest(detector, newest) ||
	    has_complete_numbered(detector))
		return false;
	each_file (file, fixed)
		if (is_of_part(file) ||
		    (is_written_over(file) && file_format_is_checkpoint_name(file->path)))
			return true;
	return false;
}

static bool is_left_out(const struct detector *detector, const struct checkpoint *checkpoint,
			const char *newest)
{
	return *checkpoint->key && checkpoint->number >= 0 &&
	       !text_equal(checkpoint->key, newest) &&
	       (checkpoint->begun_ms <= detector->left_out_ms ||
		checkpoint->number <= detector->left_out_number);
}

static void list_excluded(const struct detector *detector, const char *newest,
			  struct path_list *list)
{
	bool broken = snapshot_plan_would_lack_newest(detector, "");

	detector_each_excluded(detector, path_list_add, list);
	each_checkpoint (checkpoint, &detector->table)
		each_file (file, checkpoint)
			if (*checkpoint->key ? is_left_out(detector, checkpoint, newest)
					     : broken && is_of_part(file))
				path_list_add(list, file->path);
}

static char **list_complete(const struct detector *detector, const char *newest)
{
	struct path_list list = {.paths = memory_new(sizeof(char *))};

	each_checkpoint (checkpoint, &detector->table)
		each_file (file, checkpoint)
			if (checkpoint_stands(checkpoint) && !checkpoint_is_alone(checkpoint) &&
			    !is_left_out(detector, checkpoint, newest) &&
			    !(file->marks & FILE_RUNNING))
				path_list_add(&list, file->path);
	return list.paths;
}

static char **list_parts(const struct detector *detector)
{
	struct path_list list = {.paths = memory_new(sizeof(char *))};

	for (const struct family *family = detector->table.families; family; family = family->next)
		if (family->parts)
			path_list_add(&list, family->name);
	return list.paths;
}

/* Pictures with a number are no checkpoint. */
static bool is_of_pictures(const struct checkpoint *checkpoint)
{
	if (!*checkpoint->key)
		return false;
	each_file (file, checkpoint)
		if (!companion_file_is(file->path))
			return false;
	return true;
}

static void note_held(struct snapshot_plan *plan, const struct detector *detector)
{
	const struct checkpoint *held = NULL;

	each_checkpoint (checkpoint, &detector->table)
		if (checkpoint_stands(checkpoint) && !checkpoint_is_alone(checkpoint) &&
		    !is_of_pictures(checkpoint) && (!held || checkpoint_is_after(checkpoint, held)))
			held = checkpoint;
	plan->held_step = held ? checkpoint_step_of(held) : -1;
	plan->held_ms = held ? held->last_ms : 0;
}

static enum snapshot_gone find_gone(const struct detector *detector, const char *newest)
{
	const struct checkpoint *checkpoint =
		newest ? checkpoint_table_find_key(&detector->table, newest) : NULL;
	bool gone = !checkpoint || checkpoint->state == CHECKPOINT_EMPTY || checkpoint->reduced;

	if (!newest)
		return GONE_ANY;
	return (*newest ? gone : checkpoint && checkpoint->gone) ? GONE_NEWEST : GONE_NOTHING;
}

static char **list_made(const struct detector *detector)
{
	struct path_list list = {.paths = memory_new(sizeof(char *))};

	for (size_t i = 0; i < detector->made_count; i++)
		path_list_add(&list, detector->made[i].path);
	return list.paths;
}

void snapshot_plan_make(struct snapshot_plan *plan, const struct detector *detector,
			const char *newest)
{
	bool lacks = snapshot_plan_would_lack_newest(detector, newest);
	bool part = snapshot_plan_would_hold_less(detector, newest);

	*plan = (struct snapshot_plan){
		.generation = detector->generation,
		.running_generation = detector->running_generation,
		.repository_generation = detector->repository_generation,
		.running = detector_list_marked(detector, FILE_RUNNING),
		.key = text_copy(newest ? newest : ""),
		.complete = list_complete(detector, newest ? newest : ""),
		.parts = list_parts(detector),
		.made = list_made(detector),
		.gone = find_gone(detector, newest),
		.gone_number = newest ? checkpoint_name_parse(newest).number : -1,
		.ended = detector->job_end == JOB_END_CLEAN,
		.lacks_newest = lacks,
		.holds_less = part,
	};
	list_excluded(detector, plan->key, &plan->excluded);
	note_held(plan, detector);
}

void snapshot_plan_release(struct snapshot_plan *plan)
{
	path_list_free(plan->excluded.paths);
	path_list_free(plan->running);
	path_list_free(plan->complete);
	path_list_free(plan->parts);
	path_list_free(plan->empty);
	path_list_free(plan->made);
	free(plan->key);
	*plan = (struct snapshot_plan){0};
}

bool snapshot_plan_confirm(struct snapshot_plan *plan, const struct detector *detector,
			   bool last_try)
{
	if (plan->holds_less)
		return false;
	path_list_free(plan->made);
	plan->made = list_made(detector);
	/* A commit meanwhile: what was listed before it may lack what its branch names now. */
	if (detector->repository_generation != plan->repository_generation && !last_try)
		return false;
	if (detector->generation == plan->generation)
		return true;
	list_excluded(detector, plan->key, &plan->excluded);
	detector_each_changed(detector, plan->generation, path_list_add, &plan->excluded);
	if (*plan->key && detector_has_changed(detector, plan->key, plan->generation))
		return false;
	/* The newest complete checkpoint is the fixed names: without them there is nothing new. */
	if (!*plan->key)
		last_try = false;
	return last_try || !detector_has_changed(detector, "", plan->generation);
}

bool snapshot_plan_lists(char *const *paths, const char *path)
{
	for (; paths && *paths; paths++)
		if (path_set_is_below(path, *paths))
			return true;
	return false;
}
