/* Lists, and questions about what the job has written. See detector.h. */
#include "base/cleanup.h"
#include "base/text.h"
#include "detector_parts.h"

#include <string.h>

void detector_each_marked(const struct detector *detector, unsigned marks, path_set_fn *act,
			  void *argument)
{
	each_checkpoint (checkpoint, &detector->table)
		each_file (file, checkpoint)
			if (file->marks & marks)
				act(argument, file->path);
}

bool detector_is_running(const struct detector *detector, const char *path)
{
	const struct tracked_file *file = checkpoint_table_find(&detector->table, path);

	return (file && (file->marks & FILE_RUNNING)) ||
	       file_patterns_kind(detector->patterns, path) == FILE_KIND_RUNNING;
}

void detector_each_open(const struct detector *detector, path_set_fn *act, void *argument)
{
	for (size_t i = 0; i < detector->writers.open_count; i++)
		if (!detector_is_running(detector, detector->writers.opens[i].path))
			act(argument, detector->writers.opens[i].path);
	detector_each_marked(detector, FILE_UNCLOSED, act, argument);
}

void detector_each_closed(const struct detector *detector, path_set_fn *act, void *argument)
{
	each_under_way (checkpoint, &detector->table) {
		if (checkpoint->death == DEATH_TEARS)
			continue;
		each_file (file, checkpoint)
			if ((file->marks & FILE_FRESH) && !(file->marks & FILE_DAMAGED) &&
			    !detector_file_is_open(detector, file))
				act(argument, file->path);
	}
}

char **detector_list(const struct detector *detector, detector_each_fn *each)
{
	struct path_list list = {.paths = memory_new(sizeof(char *))};

	each(detector, path_list_add, &list);
	return list.paths;
}

char **detector_list_marked(const struct detector *detector, unsigned marks)
{
	struct path_list list = {.paths = memory_new(sizeof(char *))};

	detector_each_marked(detector, marks, path_list_add, &list);
	return list.paths;
}

bool detector_is_of_companions(const struct checkpoint *checkpoint)
{
	each_file (file, checkpoint)
		if ((file->marks & FILE_FRESH) && !(file->marks & FILE_RUNNING) &&
		    !companion_file_is(file->path))
			return false;
	return true;
}

bool detector_has_only_settings(const struct checkpoint *fixed)
{
	each_file (file, fixed)
		if (!(file->marks & FILE_RUNNING) && tracked_file_was_written(file) &&
		    !companion_file_is_setting(file->path))
			return false;
	return true;
}

bool detector_has_begun_checkpoint(const struct detector *detector)
{
	/* A temporary name says nothing yet of what the file will be. */
	each_checkpoint (checkpoint, &detector->table)
		if (!detector_is_of_companions(checkpoint))
			return true;
	return detector->wrote_checkpoint;
}

int64_t detector_begun_step(const struct detector *detector)
{
	const struct checkpoint *newest = NULL;

	each_checkpoint (checkpoint, &detector->table)
		if (*checkpoint->key && checkpoint->state != CHECKPOINT_EMPTY &&
		    (!newest || checkpoint_is_after(checkpoint, newest)))
			newest = checkpoint;
	return newest ? checkpoint_step_of(newest) : -1;
}

bool detector_has_ordinary_files(const struct detector *detector)
{
	each_checkpoint (checkpoint, &detector->table)
		each_file (file, checkpoint)
			if (!(file->marks & FILE_RUNNING) && tracked_file_was_written(file))
				return true;
	return false;
}

/* Of numbers that may be parts of one, nobody knows whether another save was begun. */
static bool went_on_after_numbered(const struct checkpoint *checkpoint)
{
	const struct family *family = checkpoint->family;

	return checkpoint->save > family->over &&
	       (family->given_up > family->over ||
		(family->sure && family->begun_before > family->over));
}

void detector_each_unsaved(const struct detector *detector, path_set_fn *act, void *argument)
{
	each_checkpoint (checkpoint, &detector->table)
		each_file (file, checkpoint) {
			if (!(file->marks & FILE_DAMAGED) ||
			    checkpoint_name_is_temporary(file->path))
				continue;
			if (*checkpoint->key ? went_on_after_numbered(checkpoint)
					     : detector_went_on_after(detector, file))
				act(argument, file->path);
		}
}

const char *detector_why(const struct detector *detector, const char *path)
{
	const struct tracked_file *file = checkpoint_table_find(&detector->table, path);
	bool rejected = file && (file->marks & FILE_REJECTED);

	/* A fixed name may be rejected while the others are complete. */
	return verdict_reason_text(rejected ? REASON_DEFECT : REASON_DIED);
}
