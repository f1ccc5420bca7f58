#include "family.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "detector_parts.h"
#include "workspace/workspace.h"

#include <stdlib.h>
#include <string.h>

/* Between two files of one kind in one save; in quiet times. */
#define PAUSES_MOST 10

struct family *checkpoint_table_find_family(const struct checkpoint_table *table, const char *name)
{
	for (struct family *family = table->families; family; family = family->next)
		if (text_equal(family->name, name))
			return family;
	return NULL;
}

struct family *checkpoint_table_family(struct checkpoint_table *table, const char *name)
{
	struct family *family = checkpoint_table_find_family(table, name);

	if (family)
		return family;
	family = memory_new(sizeof(*family));
	*family = (struct family){
		.name = text_copy(name),
		/* In a numbered directory, or of fixed names, all are of one kind. */
		.signature.several = *name && name[strlen(name) - 1] == '#',
		.leader = text_starts(name, FAMILY_LED_BY) ? strtoull(name + 1, NULL, 16) : 0,
		.lowest = -1,
		.highest = -1,
		.round.number = -1,
		.followed = -1,
		.own_number = -1,
		.own_before = -1,
		.next = table->families,
	};
	table->families = family;
	return family;
}

struct family *checkpoint_table_find_apart(const struct checkpoint_table *table, const char *path)
{
	auto_free char *stream = table->keeps_apart ? checkpoint_name_stream(path) : NULL;
	struct family *family = stream ? checkpoint_table_find_family(table, stream) : NULL;

	return family && family->stream ? family : NULL;
}

bool checkpoint_table_is_part_name(const struct checkpoint_table *table, const char *path)
{
	auto_free char *template = NULL, *name = NULL;
	const struct family *family;

	if (!table->keeps_apart)
		return false;
	template = checkpoint_name_template(path);
	name = text_format(FAMILY_OF_NAME "%s", template);
	family = checkpoint_table_find_family(table, name);
	return family && family->parts;
}

/* --- what turns out of a kind --- */

/* Only the files with that name are parts: the others count. */
static void note_part_name(struct checkpoint_table *table, const struct tracked_file *file,
			   struct checkpoint *fixed)
{
	auto_free char *template = checkpoint_name_template(file->path);
	auto_free char *kind = text_format(FAMILY_OF_NAME "%s", template);

	checkpoint_table_family(table, kind)->parts = table->keeps_apart = true;
	for (size_t i = 0; i < file->checkpoint->writer_count; i++)
		checkpoint_add_writer(fixed, file->checkpoint->writers[i]);
}

void checkpoint_table_join_parts(struct checkpoint_table *table, struct family *family,
				 const struct tracked_file *like)
{
	struct checkpoint *fixed = checkpoint_table_fixed(table);
	uint64_t name = like ? like->name : 0;

	if (!like) {
		family->parts = true;
		family->stream = false;
	}
	for (struct checkpoint *checkpoint = table->checkpoints, *next; checkpoint;
	     checkpoint = next) {
		next = checkpoint->sibling;
		if (checkpoint->family != family)
			continue;
		/* The checkpoint goes with its last file. */
		for (struct tracked_file *file = checkpoint->files, *after; file; file = after) {
			after = file->sibling;
			if (like && file->name != name)
				continue;
			if (like)
				note_part_name(table, file, fixed);
			/* Of fixed names, parts may differ in a number only. */
			file->name = signature_hash(file->path);
			checkpoint_table_put(table, file, fixed);
		}
	}
}

/* The fixed name is whole, and from now on a checkpoint of its own. */
static void put_to_rest(struct checkpoint_table *table, struct tracked_file *file,
			struct family *family)
{
	const struct checkpoint *fixed = file->checkpoint;
	struct checkpoint *own = checkpoint_table_apart(table, family, file->path);

	file->marks &= ~(unsigned)(FILE_FRESH | FILE_WRITTEN);
	checkpoint_set_state(table, own, CHECKPOINT_COMPLETE);
	own->reason = fixed->reason;
	own->begun_ms = file->begun_ms;
	own->last_ms = fixed->last_ms;
	own->save = fixed->save;
	checkpoint_table_put(table, file, own);
}

/* The fixed names have been still since the last write to one that is left. */
static void note_left(struct checkpoint_table *table, struct checkpoint *fixed)
{
	int64_t last_ms = 0;
	bool any = false;

	each_file (file, fixed) {
		if ((file->marks & FILE_FRESH) && file->here_ms > last_ms)
			last_ms = file->here_ms;
		any |= file->marks & FILE_FRESH;
	}
	if (any)
		fixed->last_ms = last_ms;
	else if (fixed->state == CHECKPOINT_UNDER_WAY)
		checkpoint_set_state(table, fixed, CHECKPOINT_EMPTY);
}

void checkpoint_table_make_stream(struct checkpoint_table *table, struct family *family)
{
	struct checkpoint *fixed = checkpoint_table_fixed(table);

	family->stream = family->sure = table->keeps_apart = true;
	for (struct tracked_file *file = fixed->files, *next; file; file = next) {
		auto_free char *stream = checkpoint_name_stream(file->path);

		next = file->sibling;
		if (stream && text_equal(stream, family->name) &&
		    (file->marks & (FILE_WITNESSED | FILE_TORN)) == FILE_WITNESSED)
			put_to_rest(table, file, family);
	}
	note_left(table, fixed);
}

bool checkpoint_is_alone(const struct checkpoint *checkpoint)
{
	return checkpoint->family->stream || checkpoint->added_to;
}

/*
 * --- siblings ---
 *
 * One save may be spread over directories: model/step_40.pt, optim/step_40.pt. A process that goes
 * on in another directory with the number that it wrote last goes on with that save. From then on
 * all files there are parts of the checkpoints of those numbers, which have their signature like
 * any other.
 */

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
	       leader->sure && !leader->stream;
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

static void join_siblings(struct checkpoint_table *table, struct family *part,
			  struct family *leader, struct checkpoint *from, struct checkpoint *into)
{
	for (struct family *family = table->families; family; family = family->next)
		if (family == part || family->with == part)
			family->with = leader;
	part->leads = false;
	leader->leads = true;
	signature_join(&leader->signature, &part->signature);
	for (size_t i = 0; i < from->writer_count; i++)
		checkpoint_add_writer(into, from->writers[i]);
	for (bool last = false; !last;) {
		struct tracked_file *file = from->files;

		last = from->file_count == 1; /* then it is gone */
		checkpoint_table_put(table, file, into);
	}
}

void detector_find_siblings(struct detector *detector, struct tracked_file *file, int pid,
			    int64_t now_ms)
{
	struct checkpoint *own = file->checkpoint, *into;
	struct family *part = file->kind, *last;

	if (pid <= 0 || own->number < 0 || own->family != part || part->stream ||
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
	join_siblings(&detector->table, part, last, own, into);
}

void detector_note_sibling(const struct detector *detector, const struct tracked_file *file,
			   int pid)
{
	struct family *family = file->kind;
	int64_t number = file->checkpoint->number;

	if (pid <= 0 || number < 0 || family->stream || is_beside(file))
		return;
	if (number != family->own_number)
		family->own_before = family->own_number;
	family->own_number = number;
	family->own_pid = pid;
	family->own_written = detector->generation;
}
