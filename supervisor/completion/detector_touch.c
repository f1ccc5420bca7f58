/* What a write means: it begins a save or goes on with it; its number may begin the next one; fixed
 * names that are written together, and running files, are learned from it. See detector.h. */
#include "detector.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

/* Numbers of a family that rise by one this often count checkpoints; fewer may be parts. */
#define RISING_SURE 8
/* A file is a running one if it stays open while so many saves are begun, and for so long: longer
 * if it has a checkpoint's name, because a slow save is like that too. */
#define RUNNING_SAVES 5
#define RUNNING_OPEN_MS 10000
#define RUNNING_SLOW_OPEN_MS 20000
/* ... or if it was opened with content and closed longer so often in a row. */
#define RUNNING_GROWN 2
/* Two fixed names are written together if the pause between them is shorter than the longest one
 * between two writes of the first, by this ratio. */
#define TOGETHER_NUM 3
#define TOGETHER_DEN 2

static void note_running(struct detector *detector, const char *path)
{
	detector->running_generation++;
	text_set(detector->running_path, sizeof(detector->running_path), path);
}

bool detector_passes_over(struct detector *detector, const char *path)
{
	enum file_kind kind = file_patterns_kind(detector->patterns, path);

	if (kind == FILE_KIND_RUNNING)
		note_running(detector, path);
	return kind != FILE_KIND_ORDINARY;
}

bool detector_is_open(const struct detector *detector, const struct checkpoint *checkpoint)
{
	for (size_t i = 0; i < detector->writers.open_count; i++) {
		const struct tracked_file *file =
			checkpoint_table_find(&detector->table, detector->writers.opens[i].path);

		if (file && file->checkpoint == checkpoint && !(file->marks & FILE_RUNNING))
			return true;
	}
	return checkpoint_any(checkpoint, FILE_UNCLOSED);
}

/* --- numbers --- */

/* Has the process begun a checkpoint of this family with a higher number? Of the fixed names: any
 * numbered one after them. */
static bool has_begun_later(const struct detector *detector, const struct checkpoint *than, int pid)
{
	for (const struct checkpoint *later = detector->table.checkpoints; later;
	     later = later->sibling)
		if (later->number > than->number && checkpoint_has_writer(later, pid) &&
		    (later->family == than->family ||
		     (than->number < 0 && later->begun_ms >= than->last_ms)))
			return true;
	return false;
}

/* The process has begun `later`: the ones before it that only such processes wrote to are over. */
static void note_next_begun(struct detector *detector, const struct checkpoint *later)
{
	for (struct checkpoint *earlier = detector->table.checkpoints; earlier;
	     earlier = earlier->sibling) {
		bool all = earlier->writer_count > 0;

		if ((earlier->family != later->family && earlier->number >= 0) ||
		    earlier->number >= later->number || earlier->state != CHECKPOINT_UNDER_WAY ||
		    earlier->next_begun)
			continue;
		for (size_t i = 0; all && i < earlier->writer_count; i++)
			all = has_begun_later(detector, earlier, earlier->writers[i]);
		earlier->next_begun = all && !detector_is_open(detector, earlier);
	}
}

/* A write to a number that the family did not have, or had before. */
static void note_number(struct detector *detector, struct checkpoint *checkpoint, bool begun)
{
	struct family *family = checkpoint->family;

	if (begun && family->highest >= 0 && checkpoint->number > family->highest) {
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
 * checkpoints: the numbers name the parts of one that is written in place. */
static bool shows_parts(const struct checkpoint *checkpoint)
{
	const struct family *family = checkpoint->family;

	return checkpoint->number >= 0 && !family->sure && checkpoint->rewritten &&
	       checkpoint->number < family->highest;
}

/* --- running files --- */

/* From now on it is part of no checkpoint. */
static void make_running(struct detector *detector, struct tracked_file *file)
{
	struct checkpoint *checkpoint = file->checkpoint;

	file->marks = FILE_RUNNING;
	note_running(detector, file->path);
	detector->generation++;
	if (checkpoint->state == CHECKPOINT_UNDER_WAY && !checkpoint_any(checkpoint, FILE_FRESH))
		checkpoint->state = CHECKPOINT_EMPTY;
}

/* A database, or one of the files that SQLite keeps beside it. */
static bool is_of_database(const struct detector *detector, const char *path)
{
	static const char *const endings[] = {"-wal", "-shm", "-journal"};

	if (!detector->questions.is_database)
		return false;
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
		if (text_ends(path, endings[i])) {
			auto_free char *base = text_copy_n(path, strlen(path) - strlen(endings[i]));

			return detector->questions.is_database(detector->questions.arg, base);
		}
	return detector->questions.is_database(detector->questions.arg, path);
}

/* --- a write --- */

static bool is_temporary(const struct detector *detector, const char *path)
{
	const struct detector_questions *questions = &detector->questions;

	return questions->is_temporary && questions->is_temporary(questions->arg, path);
}

static void begin_save(struct detector *detector, struct checkpoint *checkpoint, int64_t now_ms)
{
	checkpoint_change(checkpoint, FILE_FRESH, FILE_FRESH, 0);
	checkpoint->state = CHECKPOINT_UNDER_WAY;
	checkpoint->writer_count = 0;
	checkpoint->writer_died = checkpoint->settled = checkpoint->next_begun = false;
	checkpoint->rewritten = checkpoint->reduced = checkpoint->needs_format = false;
	checkpoint->begun_ms = now_ms;
	checkpoint->pause_ms = 0;
	checkpoint->step = -1;
	checkpoint->own_word = checkpoint->committed = checkpoint->defect = 0;
	detector->saves++;
}

static void go_on(struct detector *detector, struct checkpoint *checkpoint, int64_t now_ms)
{
	int64_t pause_ms = now_ms - checkpoint->last_ms;

	if (pause_ms > checkpoint->pause_ms && !detector_is_open(detector, checkpoint))
		checkpoint->pause_ms = pause_ms;
	checkpoint->next_begun = checkpoint->reduced = false;
	/* Another process goes on with what a dead one left. */
	checkpoint->writer_died |= checkpoint->needs_format;
	checkpoint->needs_format = false;
}

static void note_change(struct detector *detector, struct checkpoint *checkpoint, int64_t now_ms)
{
	checkpoint->changed = ++detector->generation;
	checkpoint->last_ms = detector->last_ms = now_ms;
	checkpoint->stalled_ms = 0;
}

struct tracked_file *detector_touch(struct detector *detector, const char *path, unsigned marks,
				    int pid, int64_t now_ms)
{
	struct tracked_file *file = checkpoint_table_add(&detector->table, path);
	struct checkpoint *checkpoint = file->checkpoint;
	bool begun = checkpoint->state != CHECKPOINT_UNDER_WAY || checkpoint->settled;
	bool known = file->begun_ms > 0 && !(file->marks & FILE_FRESH);

	if (!(file->marks & (FILE_RUNNING | FILE_FRESH)) && !*checkpoint->key &&
	    is_of_database(detector, path))
		make_running(detector, file);
	if (file->marks & FILE_RUNNING) {
		note_running(detector, path);
		return NULL;
	}
	/* Over by quiet, and nobody has looked since: the number that grows is the same one. */
	if (begun)
		begin_save(detector, checkpoint, now_ms);
	else
		go_on(detector, checkpoint, now_ms);
	checkpoint->rewritten |= known;
	if (begun || !(file->marks & FILE_FRESH)) {
		file->begun_ms = now_ms > 0 ? now_ms : 1;
		file->marks &= ~(unsigned)(FILE_CREATED | FILE_REWRITTEN);
		file->saves_at_open = detector->saves;
	}
	file->marks &= ~(unsigned)(FILE_WITNESSED | FILE_VALID | FILE_TEMPORARY);
	if (is_temporary(detector, path))
		file->marks |= FILE_TEMPORARY;
	file->marks |= FILE_FRESH | FILE_UNCHECKED | marks;
	note_change(detector, checkpoint, now_ms);
	if (pid > 0)
		file->pid = pid;
	checkpoint_add_writer(checkpoint, pid);
	if (shows_parts(checkpoint)) {
		checkpoint_table_join_parts(&detector->table, checkpoint->family);
		checkpoint = file->checkpoint;
		if (checkpoint->state != CHECKPOINT_UNDER_WAY)
			begin_save(detector, checkpoint, now_ms);
		file->marks |= FILE_FRESH;
		note_change(detector, checkpoint, now_ms);
		checkpoint_add_writer(checkpoint, pid);
	} else if (checkpoint->number >= 0) {
		note_number(detector, checkpoint, begun);
	}
	return file;
}

void detector_touch_all(struct detector *detector, int64_t now_ms)
{
	detector->generation++;
	for (struct checkpoint *checkpoint = detector->table.checkpoints; checkpoint;
	     checkpoint = checkpoint->sibling)
		if (checkpoint->state == CHECKPOINT_UNDER_WAY)
			note_change(detector, checkpoint, now_ms);
}

/* --- what finished files teach --- */

void detector_leader_name(const struct tracked_file *file, char name[DETECTOR_LEADER])
{
	snprintf(name, DETECTOR_LEADER, "=%016llx", (unsigned long long)file->name);
}

static const struct fixed_write *write_at(const struct detector *detector, uint64_t index)
{
	return &detector->writes[index % DETECTOR_WRITES];
}

/* Index of the last write of the name; UINT64_MAX: it is not remembered. */
static uint64_t last_write_of(const struct detector *detector, uint64_t name)
{
	uint64_t oldest = detector->write_count > DETECTOR_WRITES
				  ? detector->write_count - DETECTOR_WRITES
				  : 0;

	for (uint64_t i = detector->write_count; i > oldest; i--)
		if (write_at(detector, i - 1)->name == name)
			return i - 1;
	return UINT64_MAX;
}

/* A name that is gone, by a rename or a deletion, is written together with nothing. */
static bool is_there(const struct checkpoint *fixed, uint64_t name)
{
	for (const struct tracked_file *file = fixed->files; file; file = file->sibling)
		if (file->name == name)
			return true;
	return false;
}

static bool learned_already(const struct named_file *names, size_t count, uint64_t name)
{
	for (size_t i = 0; i < count; i++)
		if (names[i].hash == name)
			return true;
	return false;
}

/* The pause before the write at `index`, in which none of them was written. */
static int64_t pause_before(const struct detector *detector, uint64_t from, uint64_t index,
			    int64_t begun_ms)
{
	int64_t closed_ms = 0;

	for (uint64_t i = from; i < index; i++)
		if (write_at(detector, i)->ms > closed_ms)
			closed_ms = write_at(detector, i)->ms;
	return begun_ms > closed_ms ? begun_ms - closed_ms : 0;
}

/* Of the pauses from the write at `from` up to the next one of that name. */
static int64_t longest_pause(const struct detector *detector, const struct tracked_file *again,
			     uint64_t from)
{
	int64_t longest = pause_before(detector, from, detector->write_count, again->begun_ms);

	for (uint64_t i = from + 1; i < detector->write_count; i++) {
		int64_t pause = pause_before(detector, from, i, write_at(detector, i)->begun_ms);

		longest = pause > longest ? pause : longest;
	}
	return longest;
}

/* Is the pause one between two files of a save, and not one between two saves? */
static bool is_within_save(int64_t pause, int64_t longest)
{
	return pause == 0 || pause * TOGETHER_NUM < longest * TOGETHER_DEN;
}

/* Where the save began in which the write at `from` is: other processes may have written their
 * files before it, and do so after it the next time. */
static uint64_t begin_of_save(const struct detector *detector, uint64_t from, int64_t longest)
{
	const struct fixed_write *own = write_at(detector, from);
	uint64_t begin = from;

	while (begin > 0 && detector->write_count - begin < DETECTOR_WRITES) {
		const struct fixed_write *before = write_at(detector, begin - 1);
		int64_t pause = write_at(detector, begin)->begun_ms - before->ms;

		if (before->name == own->name || before->pid == own->pid || before->pid == 0 ||
		    !is_within_save(pause > 0 ? pause : 0, longest))
			break;
		begin--;
	}
	return begin;
}

/*
 * A fixed name was written again. What was written since its last time, up to a pause that is like
 * the one between two saves, is what is written together with it: the signature of saves that this
 * name begins.
 */
static void learn_companions(struct detector *detector, const struct tracked_file *again,
			     uint64_t from)
{
	struct named_file names[DETECTOR_WRITES];
	int64_t longest = longest_pause(detector, again, from), pause_ms = 0;
	size_t count = 0;
	char leader[DETECTOR_LEADER];

	for (uint64_t i = begin_of_save(detector, from, longest); i < detector->write_count; i++) {
		const struct fixed_write *write = write_at(detector, i);
		int64_t pause = i > from ? pause_before(detector, from, i, write->begun_ms) : 0;

		if (!is_within_save(pause, longest))
			break;
		pause_ms = pause > pause_ms ? pause : pause_ms;
		if (!learned_already(names, count, write->name) &&
		    is_there(again->checkpoint, write->name))
			names[count++] = (struct named_file){write->name, write->size};
	}
	detector_leader_name(again, leader);
	signature_learn(&checkpoint_table_family(&detector->table, leader)->signature,
			(int64_t)detector->write_count, names, count, pause_ms);
	detector->saves++;
}

/* The save that it was part of the last time is over: what was not written since is at rest. */
static void begin_round(struct detector *detector, const struct tracked_file *again)
{
	struct checkpoint *fixed = again->checkpoint;

	for (struct tracked_file *file = fixed->files; file; file = file->sibling)
		if (file != again && file->begun_ms < again->begun_ms &&
		    (file->marks & (FILE_WITNESSED | FILE_TORN)) == FILE_WITNESSED &&
		    !writer_table_has_open(&detector->writers, file->path))
			file->marks &= ~(unsigned)FILE_FRESH;
	if (again->begun_ms > fixed->begun_ms)
		fixed->begun_ms = again->begun_ms;
}

static void note_fixed_write(struct detector *detector, const struct tracked_file *file,
			     int64_t now_ms)
{
	uint64_t before = last_write_of(detector, file->name);

	if (before != UINT64_MAX) {
		learn_companions(detector, file, before);
		begin_round(detector, file);
	}
	detector->writes[detector->write_count++ % DETECTOR_WRITES] = (struct fixed_write){
		.name = file->name,
		.size = file->size,
		.begun_ms = file->begun_ms,
		.ms = now_ms,
		.pid = file->pid,
	};
}

/* `before`: its size when it was written the last time. */
static void note_growth(struct detector *detector, struct tracked_file *file, uint64_t before)
{
	bool grown = !(file->marks & FILE_CREATED) && before > 0 && file->size > before;

	file->grown = grown ? file->grown + 1 : 0;
	if (file->grown >= RUNNING_GROWN && !file_format_is_checkpoint_name(file->path))
		make_running(detector, file);
}

void detector_file_finished(struct detector *detector, struct tracked_file *file, int64_t now_ms)
{
	const struct detector_questions *questions = &detector->questions;
	struct file_look look = {0};
	uint64_t size = file->size;
	int64_t written = file->written;

	if (questions->look)
		look = questions->look(questions->arg, file->path);
	file->written = look.written;
	/* Both the kernel and the shim tell of a close, in any order. */
	if (written != 0 && look.written == written)
		return;
	file->size = look.size;
	if (*file->checkpoint->key)
		return;
	note_fixed_write(detector, file, now_ms);
	note_growth(detector, file, size);
}

void detector_find_running(struct detector *detector, struct checkpoint *fixed, int64_t now_ms)
{
	for (struct tracked_file *file = fixed->files, *next; file; file = next) {
		int64_t least_ms = file_format_is_checkpoint_name(file->path) ? RUNNING_SLOW_OPEN_MS
									      : RUNNING_OPEN_MS;

		next = file->sibling;
		if (!(file->marks & FILE_FRESH) ||
		    !((file->marks & FILE_UNCLOSED) ||
		      writer_table_has_open(&detector->writers, file->path)))
			continue;
		if (is_of_database(detector, file->path) ||
		    (now_ms - file->begun_ms >= least_ms &&
		     detector->saves - file->saves_at_open >= RUNNING_SAVES))
			make_running(detector, file);
	}
}
