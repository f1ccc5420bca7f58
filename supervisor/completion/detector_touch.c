/* What a write means: it begins a save or goes on with it; its number may begin the next one; fixed
 * names that are written together (detector_names.c), and running files (detector_running.c), are
 * learned from it. See detector.h. */
#include "detector_parts.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <string.h>

/* Numbers of a family that rise by one this often count checkpoints; fewer may be parts. */
#define RISING_SURE 8
/* What comes to a complete one within this time was part of it. */
#define LONGEST_PAUSE_MS 60000

bool detector_file_is_open(const struct detector *detector, const struct tracked_file *file)
{
	return (file->marks & FILE_UNCLOSED) ||
	       writer_table_has_open(&detector->writers, file->path);
}

bool detector_is_held(const struct detector *detector, const struct checkpoint *checkpoint)
{
	for (size_t i = 0; i < detector->writers.open_count; i++) {
		const struct tracked_file *file =
			checkpoint_table_find(&detector->table, detector->writers.opens[i].path);

		if (file && file->checkpoint == checkpoint &&
		    !(file->marks & (FILE_RUNNING | FILE_SLOW)))
			return true;
	}
	return false;
}

bool detector_is_open(const struct detector *detector, const struct checkpoint *checkpoint)
{
	return detector_is_held(detector, checkpoint) || checkpoint_any(checkpoint, FILE_UNCLOSED);
}

/* --- numbers --- */

/* Has the process begun a checkpoint of this family with a higher number, and behind those that
 * were counted? Of the fixed names: any numbered one after them. */
static bool has_begun_later(const struct detector *detector, const struct checkpoint *than, int pid)
{
	/* Of one that is decided the writers are forgotten. */
	each_under_way (later, &detector->table)
		if (later->number > than->number && checkpoint_has_writer(later, pid) &&
		    (than->later == 0 || later->number > than->later_number) &&
		    (later->family == than->family ||
		     (than->number < 0 && later->begun_ms >= than->last_ms)))
			return true;
	return false;
}

/* The process has begun `later`: the ones before it that only such processes wrote to are over. How
 * many it began meanwhile tells whether it meant to leave one as it is. */
static void note_next_begun(struct detector *detector, const struct checkpoint *later)
{
	each_under_way (earlier, &detector->table) {
		bool all = earlier->writer_count > 0;

		if ((earlier->family != later->family && earlier->number >= 0) ||
		    earlier->number >= later->number ||
		    (earlier->later > 0 &&
		     (earlier->number < 0 || later->number <= earlier->later_number)))
			continue;
		for (size_t i = 0; all && i < earlier->writer_count; i++)
			all = has_begun_later(detector, earlier, earlier->writers[i]);
		if (!all || detector_is_open(detector, earlier))
			continue;
		earlier->later++;
		earlier->later_number = later->number;
	}
}

/* The newest of its family before it; NULL: none. */
static struct checkpoint *find_before(const struct detector *detector,
				      const struct checkpoint *checkpoint)
{
	each_checkpoint (other, &detector->table)
		if (other->family == checkpoint->family && other != checkpoint &&
		    other->number == checkpoint->family->highest)
			return other;
	return NULL;
}

/* `next` is begun. What the one before got after its rename into place would be missing now. */
static void note_placed_whole(const struct detector *detector, const struct checkpoint *next)
{
	const struct checkpoint *before = find_before(detector, next);

	/* Another directory of it may be renamed later. */
	next->family->placed_whole = !next->family->leads && before && before->placed > 0 &&
				     before->placed == before->changed;
}

static bool have_name_in_common(const struct checkpoint *one, const struct checkpoint *other)
{
	each_file (file, one)
		each_file (of_other, other)
			if (file->name == of_other->name)
				return true;
	return false;
}

/* A write to a number that the family did not have, or had before. */
static void note_number(struct detector *detector, struct checkpoint *checkpoint, bool begun)
{
	struct family *family = checkpoint->family;

	if (begun && family->highest >= 0 && checkpoint->number > family->highest) {
		note_placed_whole(detector, checkpoint);
		family->rising += checkpoint->number == family->highest + 1;
		family->sure |=
			checkpoint->number > family->highest + 1 || family->rising >= RISING_SURE;
	}
	if (checkpoint->number > family->highest)
		family->highest = checkpoint->number;
	family->last_ms = checkpoint->last_ms;
	if (family->lowest < 0 || checkpoint->number < family->lowest)
		family->lowest = checkpoint->number;
	/* The first one follows no other. */
	if (family->sure && checkpoint->number > family->lowest)
		note_next_begun(detector, checkpoint);
}

/* A low number is written anew while a higher one is there, and no word says that it counts
 * checkpoints: the numbers name the parts of one that is written in place. Nor is it a stream if
 * one of its names is written again. */
static bool shows_parts(const struct checkpoint *checkpoint)
{
	const struct family *family = checkpoint->family;

	if (family->stream)
		return checkpoint->rewritten;
	return checkpoint->number >= 0 && !family->sure && checkpoint->rewritten &&
	       checkpoint->number < family->highest;
}

/* Does no other number have a file of this name, although a higher one is there? */
static bool is_only_number(const struct detector *detector, const struct tracked_file *file)
{
	const struct checkpoint *checkpoint = file->checkpoint;

	if (checkpoint->in_directory || checkpoint->number >= checkpoint->family->highest ||
	    checkpoint_name_parse(file->path).certain)
		return false;
	each_checkpoint (other, &detector->table)
		if (other != checkpoint && other->family == checkpoint->family)
			each_file (of_other, other)
				if (of_other->name == file->name)
					return false;
	return true;
}

/* The numbers of such names are parts of the names. */
static void join_name(struct detector *detector, struct tracked_file *file)
{
	struct family *family = file->checkpoint->family;

	signature_forget(&family->signature, file->name);
	checkpoint_table_join_parts(&detector->table, family, file);
}

/* The only number of its name is written anew, or has got a backup (p-1.restart beside
 * p-1_500.restart). With it goes what was opened before it and is still open (p-pos-1.xyz). */
static void join_only_number(struct detector *detector, struct tracked_file *again)
{
	struct checkpoint *checkpoint = again->checkpoint;

	if (checkpoint->number < 0 || !(checkpoint->rewritten || checkpoint->put_aside) ||
	    !is_only_number(detector, again))
		return;
	for (struct tracked_file *file = checkpoint->files, *next; file; file = next) {
		next = file->sibling;
		if (file == again || !is_only_number(detector, file))
			continue;
		join_name(detector, file);
		if (detector_file_is_open(detector, file) &&
		    !file_format_is_checkpoint_name(file->path))
			detector_make_running(detector, file);
	}
	join_name(detector, again);
}

/* Was it written in one save with a number that has this name? */
static bool is_saved_with(const struct detector *detector, const struct checkpoint *checkpoint,
			  uint64_t name)
{
	each_checkpoint (other, &detector->table)
		if (other->family == checkpoint->family &&
		    checkpoint->begun_ms - other->last_ms <= detector->quiet_ms &&
		    other->begun_ms - checkpoint->last_ms <= detector->quiet_ms)
			each_file (file, other)
				if (file->name == name)
					return true;
	return false;
}

/*
 * Numbers of one name that begin with 0 or 1 and leave none out (ali.1.gz, ali.2.gz), and in one
 * save with them a number of other names that is higher by more than one (40.mdl): they are those
 * of parts. Where both have a name in common, it may still get one of this name until it is
 * complete.
 */
static bool names_parts(const struct detector *detector, const struct family *family,
			const struct tracked_file *lowest)
{
	int64_t highest = -1, other = -1, count = 0;

	if (checkpoint_name_parse(lowest->path).certain)
		return false;
	each_checkpoint (checkpoint, &detector->table) {
		bool has = false;

		if (checkpoint->family != family)
			continue;
		each_file (file, checkpoint)
			has |= file->name == lowest->name;
		if (has && checkpoint->number > highest)
			highest = checkpoint->number;
		if (!has && checkpoint->number > other &&
		    (checkpoint->state == CHECKPOINT_COMPLETE ||
		     !have_name_in_common(checkpoint, lowest->checkpoint)) &&
		    is_saved_with(detector, checkpoint, lowest->name))
			other = checkpoint->number;
		count += has;
	}
	return count >= 2 && highest - lowest->checkpoint->number + 1 == count &&
	       other > highest + 1;
}

/* A number of the family is begun. */
static void find_part_names(struct detector *detector, struct family *family)
{
	struct tracked_file *part = NULL;

	if (family->lowest < 0 || family->lowest > 1 || family->stream)
		return;
	each_checkpoint (checkpoint, &detector->table)
		if (checkpoint->family == family && checkpoint->number == family->lowest &&
		    !checkpoint->in_directory)
			each_file (file, checkpoint)
				if (!part && names_parts(detector, family, file))
					part = file;
	if (part)
		join_name(detector, part);
}

/* --- a write --- */

/*
 * A file comes to a complete checkpoint. It was complete without it if that was known by more than
 * quiet, has lasted for the quiet time, and none before it had such a file; or if the name says
 * that it was measured of it. What another member of the gang has written is no save of this one,
 * and is seen at some time after it.
 */
static bool is_added(const struct detector *detector, const struct tracked_file *file,
		     unsigned marks, int64_t now_ms)
{
	const struct checkpoint *to = file->checkpoint;

	if (!checkpoint_stands(to) || checkpoint_is_alone(to) || to->file_count == 1)
		return false;
	if (tracked_file_was_written(file) || (marks & FILE_OF_MEMBER))
		return marks & FILE_OF_MEMBER;
	return companion_file_is_result(file->path) ||
	       (detector_still_ms(detector, to, to->last_ms, now_ms) >= detector->quiet_ms &&
		(to->reason == REASON_OWN_WORD || to->reason == REASON_COMMIT ||
		 to->reason == REASON_SIGNATURE) &&
		!signature_has(&to->family->signature, file->name));
}

/* A save of it is begun. */
static void note_begun(struct checkpoint *checkpoint)
{
	struct family *family = checkpoint->family;

	/* The rest of the same one, after its first part was decided. */
	if (family->begun > 0 && family->begun_number == checkpoint->number)
		return;
	family->begun_before = family->begun;
	family->begun = checkpoint->save;
	family->begun_number = checkpoint->number;
}

/* Nothing that was said of what it had before says anything of what comes now. */
static void begin_save(struct detector *detector, struct checkpoint *checkpoint, int64_t now_ms)
{
	checkpoint->position = detector->table.position;
	checkpoint_change(checkpoint, FILE_FRESH, FILE_FRESH, 0);
	checkpoint_set_state(&detector->table, checkpoint, CHECKPOINT_UNDER_WAY);
	checkpoint->writer_count = 0;
	checkpoint->death = DEATH_NONE;
	checkpoint->settled = false;
	checkpoint->later = 0;
	if (checkpoint->placed > 0)
		checkpoint->family->placed_whole = false;
	checkpoint->own_word = checkpoint->committed = checkpoint->placed = checkpoint->defect = 0;
	checkpoint->rewritten = checkpoint->reduced = false;
	checkpoint->overtaken = false;
	checkpoint->begun_ms = checkpoint->since_ms = now_ms;
	/* The rest of one that looked complete: the next one is waited for. */
	checkpoint->pause_ms =
		checkpoint->gap_end_ms == now_ms && checkpoint->gap_ms <= LONGEST_PAUSE_MS
			? checkpoint->gap_ms
			: 0;
	checkpoint->step = -1;
	detector->saves += !checkpoint_is_alone(checkpoint);
	checkpoint->save = detector->saves;
	if (!checkpoint->added_to)
		note_begun(checkpoint);
}

/* A file that a numbered one did not have comes after a pause: now, or when it was complete. */
static void note_gap(const struct detector *detector, struct checkpoint *checkpoint, int64_t now_ms)
{
	int64_t gap_ms = detector_still_ms(detector, checkpoint, checkpoint->last_ms, now_ms);

	if (!*checkpoint->key || gap_ms <= checkpoint->gap_ms ||
	    detector_is_open(detector, checkpoint))
		return;
	checkpoint->gap_ms = gap_ms;
	checkpoint->gap_end_ms = now_ms;
}

static void go_on(struct detector *detector, struct checkpoint *checkpoint, int64_t now_ms)
{
	int64_t pause_ms = now_ms - checkpoint->last_ms;

	if (pause_ms > checkpoint->pause_ms && !detector_is_open(detector, checkpoint))
		checkpoint->pause_ms = pause_ms;
	checkpoint->reduced = false;
	checkpoint->later = 0;
	/* Another process goes on with what a dead one left. */
	if (checkpoint->death == DEATH_AFTER_CLOSE)
		checkpoint->death = DEATH_TEARS;
}

void detector_go_on_with(struct detector *detector, struct checkpoint *checkpoint, int64_t now_ms)
{
	note_gap(detector, checkpoint, now_ms);
	if (checkpoint->state != CHECKPOINT_UNDER_WAY || checkpoint->settled)
		begin_save(detector, checkpoint, now_ms);
	else
		go_on(detector, checkpoint, now_ms);
	detector_note_change(detector, checkpoint, now_ms);
}

void detector_note_change(struct detector *detector, struct checkpoint *checkpoint, int64_t now_ms)
{
	checkpoint->changed = ++detector->generation;
	checkpoint->last_ms = detector->last_ms = now_ms;
	checkpoint->stalled_ms = detector->stalled_ms;
}

/* What was written of them is of the fixed names' save. */
static void join_parts_of(struct detector *detector, struct family *family, int64_t now_ms)
{
	struct checkpoint *fixed;

	find_part_names(detector, family);
	fixed = checkpoint_table_find_key(&detector->table, "");
	if (!fixed || fixed->state == CHECKPOINT_UNDER_WAY || !checkpoint_any(fixed, FILE_FRESH))
		return;
	checkpoint_set_state(&detector->table, fixed, CHECKPOINT_UNDER_WAY);
	fixed->begun_ms = fixed->since_ms = now_ms;
	fixed->position = detector->table.position;
	fixed->save = detector->saves;
	detector_note_change(detector, fixed, now_ms);
}

/* The first write to it here. One that is begun anew from empty may be another kind of file now. */
static bool ran_before(const struct detector *detector, const struct tracked_file *file,
		       unsigned marks)
{
	return file->begun_ms == 0 && !(marks & FILE_CREATED) &&
	       path_set_marks(&detector->ran, file->path) != 0;
}

static struct tracked_file *touch(struct detector *detector, struct tracked_file *file,
				  unsigned marks, int pid, int64_t now_ms)
{
	struct checkpoint *checkpoint = file->checkpoint;
	const char *path = file->path;
	bool known = tracked_file_was_written(file) && !(file->marks & FILE_FRESH), begun, begins;

	if (!(file->marks & (FILE_RUNNING | FILE_FRESH)) && !*checkpoint->key &&
	    (detector_is_of_database(detector, path) || ran_before(detector, file, marks)))
		detector_make_running(detector, file);
	if (file->marks & FILE_RUNNING) {
		detector_note_running(detector, path);
		return NULL;
	}
	if (file->marks & FILE_SLOW)
		return NULL;
	if (is_added(detector, file, marks, now_ms)) {
		/* Its rename into place was not the last of it. */
		checkpoint->family->placed_whole &= checkpoint->placed == 0;
		checkpoint->placed = 0;
		checkpoint_table_add_to(&detector->table, file);
	} else if (file->begun_ms == 0 && checkpoint->file_count > 1) {
		note_gap(detector, checkpoint, now_ms);
	}
	checkpoint = file->checkpoint;
	/* Over by quiet, and nobody has looked since: the number that grows is the same one. */
	begun = checkpoint->state != CHECKPOINT_UNDER_WAY || checkpoint->settled;
	if (begun)
		begin_save(detector, checkpoint, now_ms);
	else
		go_on(detector, checkpoint, now_ms);
	checkpoint->rewritten |= known && (*checkpoint->key || !companion_file_is(path));
	begins = begun || !(file->marks & FILE_FRESH);
	if (begins) {
		file->begun_ms = now_ms > 0 ? now_ms : 1;
		file->marks &= ~(unsigned)(FILE_CREATED | FILE_REWRITTEN | FILE_NEW);
		file->saves_at_open = detector->saves;
	}
	file->marks &= ~(unsigned)(FILE_WITNESSED | FILE_VALID | FILE_TEMPORARY | FILE_OF_MEMBER);
	if (checkpoint_name_is_temporary(path) ||
	    profile_is_temporary_path(detector->profile, path))
		file->marks |= FILE_TEMPORARY;
	else
		detector->wrote_checkpoint |= !companion_file_is(path);
	file->marks |= FILE_FRESH | FILE_WRITTEN | FILE_UNCHECKED | marks;
	file->here_ms = now_ms;
	detector_note_change(detector, checkpoint, now_ms);
	if (pid > 0)
		file->pid = pid;
	checkpoint_add_writer(checkpoint, pid);
	if (shows_parts(checkpoint))
		checkpoint_table_join_parts(&detector->table, checkpoint->family, NULL);
	else
		join_only_number(detector, file);
	if (checkpoint != file->checkpoint) {
		checkpoint = file->checkpoint;
		if (checkpoint->state != CHECKPOINT_UNDER_WAY)
			begin_save(detector, checkpoint, now_ms);
		file->marks |= FILE_FRESH;
		detector_note_change(detector, checkpoint, now_ms);
		checkpoint_add_writer(checkpoint, pid);
	} else if (checkpoint->number >= 0) {
		if (!companion_file_is(path))
			detector_note_number_written(detector, checkpoint, now_ms);
		note_number(detector, checkpoint, begun);
		if (begun)
			join_parts_of(detector, checkpoint->family, now_ms);
	}
	if (begins)
		detector_note_writing(detector, file, now_ms);
	return file;
}

struct tracked_file *detector_touch(struct detector *detector, const char *path, unsigned marks,
				    int pid, int64_t now_ms)
{
	struct tracked_file *file = checkpoint_table_add(&detector->table, path);

	detector_find_siblings(detector, file, pid, now_ms);
	file = touch(detector, file, marks, pid, now_ms);
	if (file)
		detector_note_sibling(detector, file, pid);
	return file;
}

struct tracked_file *detector_touch_moved(struct detector *detector, const char *path, int pid,
					  int64_t now_ms)
{
	return touch(detector, checkpoint_table_add(&detector->table, path), 0, pid, now_ms);
}

void detector_touch_all(struct detector *detector, int64_t now_ms)
{
	detector->generation++;
	each_under_way (checkpoint, &detector->table)
		detector_note_change(detector, checkpoint, now_ms);
}
