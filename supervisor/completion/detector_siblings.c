/*
 * One save may be spread over directories: model/step_40.pt, optim/step_40.pt. A process that goes
 * on in another directory with the number that it wrote last goes on with that save. From then on
 * all files there are parts of the checkpoints of those numbers, which have their signature like
 * any other. See detector.h.
 */
#include "base/text.h"
#include "detector_parts.h"

#include <string.h>

/* Between two files of one kind in one save; in quiet times. */
#define PAUSES_MOST 10

/* Measured of a checkpoint, or a copy of the best so far: in some saves only, and not at once. */
static bool is_beside(const struct tracked_file *file)
{
	return companion_file_is(file->path) || companion_file_is_result(file->path) ||
	       companion_file_is_best(file->path);
}

/* The directory that the process wrote a number to last; NULL: none. */
static struct family *find_last(const struct detector *detector, int pid)
{
	struct family *last = NULL;

	for (struct family *family = detector->table.families; family; family = family->next)
		if (family->own_pid == pid && (!last || family->own_written > last->own_written))
			last = family;
	return last;
}

/* Both are new, or both had the same number before this one: then neither has saves of its own. */
static bool may_be_together(const struct family *part, const struct family *last, int64_t number)
{
	const struct family *leader = last->with ? last->with : last;

	return last->own_number == number &&
	       (part->own_number < 0 || part->own_number == last->own_before) && leader != part &&
	       leader->sure && !leader->beside && !leader->stream;
}

static const char *ending_of(const struct tracked_file *file)
{
	const char *ending = strrchr(text_last_part(file->path), '.');

	return ending ? ending : "";
}

static bool has_ending(const struct checkpoint *checkpoint, const char *ending)
{
	each_file (file, checkpoint)
		if (text_equal(ending_of(file), ending))
			return true;
	return false;
}

/* One save goes from directory to directory without a pause, or with a short one if that is the
 * same kind of file. What the process writes later under the same number (samples of the model, the
 * state of another one) was made in between: the checkpoint was whole without it. */
static struct checkpoint *find_number(const struct detector *detector, const struct family *family,
				      const struct tracked_file *file, int64_t now_ms)
{
	each_checkpoint (checkpoint, &detector->table) {
		int64_t pause_ms = now_ms - checkpoint->last_ms;

		if (checkpoint->family != family ||
		    checkpoint->number != file->checkpoint->number ||
		    (checkpoint->state != CHECKPOINT_UNDER_WAY &&
		     checkpoint->state != CHECKPOINT_COMPLETE))
			continue;
		if (pause_ms <= detector->quiet_ms ||
		    (pause_ms <= PAUSES_MOST * detector->quiet_ms &&
		     has_ending(checkpoint, ending_of(file))))
			return checkpoint;
	}
	return NULL;
}

void detector_find_siblings(struct detector *detector, struct tracked_file *file, int pid,
			    int64_t now_ms)
{
	struct checkpoint *own = file->checkpoint, *into;
	struct family *part = file->kind, *last;

	if (pid <= 0 || own->number < 0 || own->family != part || part->beside || part->stream ||
	    (part->own_number == own->number && part->own_pid == pid) || is_beside(file))
		return;
	last = find_last(detector, pid);
	if (!last || !may_be_together(part, last, own->number))
		return;
	last = last->with ? last->with : last;
	into = find_number(detector, last, file, now_ms);
	if (!into)
		return;
	/* The kernel told of it before its writer was known. */
	if (own->state == CHECKPOINT_UNDER_WAY)
		detector_go_on_with(detector, into, own->begun_ms);
	checkpoint_table_join_siblings(&detector->table, part, last, own, into);
}

void detector_note_sibling(const struct detector *detector, const struct tracked_file *file,
			   int pid)
{
	struct family *family = file->kind;
	int64_t number = file->checkpoint->number;

	if (pid <= 0 || number < 0 || family->beside || family->stream || is_beside(file))
		return;
	if (number != family->own_number)
		family->own_before = family->own_number;
	family->own_number = number;
	family->own_pid = pid;
	family->own_written = detector->generation;
}
