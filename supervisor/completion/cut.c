/*
 * The cut: the directory as it was when nothing was half written. Each file has a class in it. What
 * a snapshot may hold is read from that (snapshot_plan.h), and what the next start undoes.
 */
#include "snapshot_plan.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "detector_parts.h"
#include "frameworks/frameworks.h"
#include "workspace/workspace.h"

#include <stdlib.h>
#include <string.h>

#define NOT_WHOLE (FILE_FRESH | FILE_DAMAGED | FILE_SLOW)

enum cut_class {
	CUT_WHOLE,
	/* of fixed names: at rest, and another file of its set is written over */
	CUT_REST,
	/* the same: of a save that was never known to be complete, and another file of it is being
	 * written */
	CUT_OVERTAKEN,
	/* what follows is out: being written, or torn */
	CUT_WRITTEN,
	/* ... but closed before its writer died, or by one that lives: a death tears its save, and
	 * not the file */
	CUT_CLOSED,
	/* ... but nobody reports who has it open: that it was left half, nobody has seen either */
	CUT_UNSEEN,
};

/* Fixed names that a save of the set may be without are no part of it. */
static bool is_of_sets(const struct tracked_file *file)
{
	return !(file->marks & (FILE_RUNNING | FILE_TEMPORARY)) && !companion_file_is(file->path) &&
	       !companion_file_is_best(file->path) && !companion_file_is_result(file->path);
}

static enum cut_class class_of_out(const struct tracked_file *file)
{
	if (file->marks & (FILE_REJECTED | FILE_SLOW | FILE_TEMPORARY))
		return CUT_WRITTEN;
	if (file->marks & FILE_WITNESSED)
		return CUT_CLOSED;
	return file->marks & FILE_REPORTED ? CUT_WRITTEN : CUT_UNSEEN;
}

static enum cut_class class_of_rest(const struct detector *detector,
				    const struct tracked_file *file)
{
	enum cut_class class = CUT_WHOLE;

	each_file (other, file->checkpoint) {
		if (!(other->marks & NOT_WHOLE) || (other->marks & FILE_RUNNING))
			continue;
		if ((file->marks & FILE_WRITTEN) && (detector_are_together(detector, other, file) ||
						     detector_are_together(detector, file, other)))
			return CUT_OVERTAKEN;
		if (!(other->marks & FILE_NEW) && is_of_sets(file) && is_of_sets(other) &&
		    detector_may_be_one_set(detector, other, file))
			class = CUT_REST;
	}
	return class;
}

static enum cut_class class_of(const struct detector *detector, const struct tracked_file *file)
{
	if (file->marks & NOT_WHOLE)
		return class_of_out(file);
	return *file->checkpoint->key || (file->marks & FILE_RUNNING)
		       ? CUT_WHOLE
		       : class_of_rest(detector, file);
}

/* All of a numbered checkpoint: its directory with `end` behind it, and each of its files that does
 * not lie there, as under a temporary name. */
static void act_on_whole(const struct checkpoint *checkpoint, const char *end, path_set_fn *act,
			 void *argument)
{
	auto_free char *directory = text_copy(checkpoint->key);

	if (checkpoint->in_directory) {
		auto_free char *listed = NULL;

		directory[strlen(directory) - 1] = '\0';
		listed = text_format("%s%s", directory, end);
		act(argument, listed);
	}
	each_file (file, checkpoint)
		if (!checkpoint->in_directory || !path_set_is_below(file->path, directory))
			act(argument, file->path);
}

void detector_each_excluded(const struct detector *detector, path_set_fn *act, void *argument)
{
	each_checkpoint (checkpoint, &detector->table) {
		bool fixed = !*checkpoint->key;

		if (!fixed && !checkpoint_stands(checkpoint)) {
			act_on_whole(checkpoint, "", act, argument);
			continue;
		}
		each_file (file, checkpoint)
			if (fixed && class_of(detector, file) >= CUT_OVERTAKEN)
				act(argument, file->path);
	}
}

static void each_changed(const struct detector *detector, uint64_t generation, path_set_fn *act,
			 void *argument)
{
	each_checkpoint (checkpoint, &detector->table)
		if (*checkpoint->key && checkpoint->changed > generation)
			act_on_whole(checkpoint, "", act, argument);
}

static bool has_changed(const struct detector *detector, const char *key, uint64_t generation)
{
	const struct checkpoint *checkpoint = checkpoint_table_find_key(&detector->table, key);

	/* A numbered one that is not there was deleted. */
	return checkpoint ? checkpoint->changed > generation : *key != '\0';
}

/* --- the same for the next start --- */

/* What is known of a checkpoint as a whole says how its files are to be taken. */
enum left_as {
	/* only its contents are still to be looked at, as the next start does, too: what needs no
	 * time has made it complete */
	LEFT_DECIDED,
	/* its writer has closed all that it had begun, and nothing is known to be missing: that the
	 * job ended before its save was known to be complete says no more than a kill of everything
	 * does */
	LEFT_CLOSED,
	/* a number of which no file was seen to be left half: those of the number before tell */
	LEFT_UNSEEN,
	/* nothing is missing but, perhaps, closes */
	LEFT_BEGUN,
	/* fixed names: each for itself */
	LEFT_NAMES,
	/* added to a complete one: it says nothing of the others */
	LEFT_ADDED,
	/* a number that is torn or being written: all of it */
	LEFT_HALF,
	LEFT_NOTHING,
};

static bool is_closed(const struct detector *detector, const struct checkpoint *checkpoint)
{
	if (checkpoint->death == DEATH_TEARS || checkpoint->state == CHECKPOINT_TORN)
		return checkpoint->closed_at_death && !checkpoint_any(checkpoint, FILE_REJECTED);
	return checkpoint->state == CHECKPOINT_UNDER_WAY &&
	       !checkpoint_any(checkpoint, FILE_TEMPORARY | FILE_DAMAGED | FILE_SLOW) &&
	       detector_may_be_whole_set(detector, checkpoint);
}

static bool is_unseen_number(const struct checkpoint *checkpoint)
{
	bool unseen = false;

	each_file (file, checkpoint) {
		bool out = file->marks & NOT_WHOLE;

		if (out && class_of_out(file) == CUT_WRITTEN)
			return false;
		unseen |= out && class_of_out(file) == CUT_UNSEEN;
	}
	return unseen && *checkpoint->key;
}

static enum left_as left_as(const struct detector *detector, const struct checkpoint *checkpoint)
{
	bool under_way = checkpoint->state == CHECKPOINT_UNDER_WAY;

	if (under_way &&
	    detector_judge(detector, checkpoint, checkpoint->last_ms).verdict == VERDICT_COMPLETE)
		return LEFT_DECIDED;
	if (checkpoint->added_to)
		return LEFT_ADDED;
	if (is_closed(detector, checkpoint))
		return LEFT_CLOSED;
	if (is_unseen_number(checkpoint))
		return LEFT_UNSEEN;
	if (detector_has_begun_all(detector, checkpoint))
		return LEFT_BEGUN;
	if (!*checkpoint->key)
		return LEFT_NAMES;
	return under_way || checkpoint->state == CHECKPOINT_TORN ? LEFT_HALF : LEFT_NOTHING;
}

/* Closed, and beside a set of fixed names: it is whole, and says nothing of the others. */
static bool is_whole_beside(const struct tracked_file *file)
{
	return !*file->checkpoint->key && (file->marks & FILE_WITNESSED) &&
	       !(file->marks & FILE_DAMAGED) && companion_file_is(file->path);
}

/* A fixed name that was closed is whole. It is undone only with the rest of its save: with a name
 * of its set that is open, torn, or still to come. */
static bool is_undone(const struct detector *detector, const struct tracked_file *file)
{
	each_file (other, file->checkpoint)
		if (other != file && is_of_sets(other) &&
		    (!(other->marks & NOT_WHOLE) || class_of_out(other) != CUT_CLOSED) &&
		    detector_may_be_one_set(detector, other, file))
			return true;
	return false;
}

/* What stands in front of a fixed name (completion_record.h); NULL: it is not in the list. */
static const char *front_of_name(const struct detector *detector, const struct tracked_file *file)
{
	bool overtaken = file->checkpoint->overtaken && class_of_out(file) == CUT_CLOSED;

	switch (class_of(detector, file)) {
	case CUT_WHOLE:
		return NULL;
	case CUT_REST:
		return UNDER_WAY_REST;
	case CUT_OVERTAKEN:
		return overtaken ? NULL : UNDER_WAY_WITH;
	case CUT_CLOSED:
		return overtaken || !is_undone(detector, file) ? NULL : UNDER_WAY_WITH;
	case CUT_UNSEEN:
		return UNDER_WAY_UNSEEN;
	case CUT_WRITTEN:
		break;
	}
	return "";
}

/* Of the fixed names, others may be of an older save that was never complete, and those that are
 * closed already of one that is complete. */
static const char *front_of_begun(const struct detector *detector, const struct tracked_file *file)
{
	enum cut_class class = class_of(detector, file);

	if (class < CUT_WRITTEN || is_whole_beside(file))
		return class == CUT_OVERTAKEN ? "" : NULL;
	if (class == CUT_UNSEEN)
		return UNDER_WAY_UNSEEN;
	return !*file->checkpoint->key && class == CUT_CLOSED
		       ? UNDER_WAY_WITH
		       : UNDER_WAY_UNLESS_WHOLE;
}

static const char *front_of(const struct detector *detector, enum left_as as,
			    const struct tracked_file *file)
{
	const unsigned closed = FILE_WITNESSED | FILE_DAMAGED;

	switch (as) {
	case LEFT_DECIDED:
		return file->marks & (FILE_DAMAGED | FILE_SLOW) ? "" : NULL;
	case LEFT_CLOSED:
		return (file->marks & FILE_FRESH) && !is_whole_beside(file)
			       ? UNDER_WAY_CLOSED
			       : NULL;
	case LEFT_UNSEEN:
		return file->marks & NOT_WHOLE ? UNDER_WAY_UNSEEN : NULL;
	case LEFT_BEGUN:
		return front_of_begun(detector, file);
	case LEFT_NAMES:
		return front_of_name(detector, file);
	case LEFT_ADDED:
		return (file->marks & NOT_WHOLE) && (file->marks & closed) != FILE_WITNESSED
			       ? UNDER_WAY_ALONE
			       : NULL;
	case LEFT_HALF:
	case LEFT_NOTHING:
		break;
	}
	return NULL;
}

void detector_each_under_way(const struct detector *detector, path_set_fn *act, void *argument)
{
	each_checkpoint (checkpoint, &detector->table) {
		enum left_as as = left_as(detector, checkpoint);

		if (as == LEFT_HALF)
			act_on_whole(checkpoint, "/", act, argument);
		each_file (file, checkpoint) {
			const char *front = front_of(detector, as, file);
			auto_free char *listed =
				front ? text_format("%s%s", front, file->path) : NULL;

			if (listed)
				act(argument, listed);
		}
	}
}

/* --- the plan of a snapshot --- */

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
	each_changed(detector, plan->generation, path_list_add, &plan->excluded);
	if (*plan->key && has_changed(detector, plan->key, plan->generation))
		return false;
	/* The newest complete checkpoint is the fixed names: without them there is nothing new. */
	if (!*plan->key)
		last_try = false;
	return last_try || !has_changed(detector, "", plan->generation);
}

bool snapshot_plan_lists(char *const *paths, const char *path)
{
	for (; paths && *paths; paths++)
		if (path_set_is_below(path, *paths))
			return true;
	return false;
}
