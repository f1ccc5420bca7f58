/* The cut: which files are whole, and the lists that are read from it; and the evidence of writers
 * without the shim. See detector.h. */
#include "base/cleanup.h"
#include "base/text.h"
#include "detector_parts.h"

#include <string.h>

/* --- the cut: what of the directory is whole --- */

void detector_each_marked(const struct detector *detector, unsigned marks, path_set_fn *act,
			  void *argument)
{
	each_checkpoint (checkpoint, &detector->table)
		each_file (file, checkpoint)
			if (file->marks & marks)
				act(argument, file->path);
}

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

void detector_each_changed(const struct detector *detector, uint64_t generation, path_set_fn *act,
			   void *argument)
{
	each_checkpoint (checkpoint, &detector->table)
		if (*checkpoint->key && checkpoint->changed > generation)
			act_on_whole(checkpoint, "", act, argument);
}

bool detector_has_changed(const struct detector *detector, const char *key, uint64_t generation)
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

/* --- writers without the shim --- */

bool detector_has_untracked(const struct detector *detector)
{
	const struct writer_table *writers = &detector->writers;

	/* A process of another PID namespace reports its writes, but under a PID that means nothing
	 * here: it has to be searched for as well. */
	for (size_t i = 0; writers->open_count > 0 && i < writers->process_count; i++)
		if (writers->processes[i].elsewhere)
			return true;
	each_under_way (checkpoint, &detector->table)
		if (checkpoint_any(checkpoint, FILE_UNCLOSED))
			return true;
	return false;
}

/* Does a search tell whose it is? Only of one that the shim does not report. */
static bool is_untracked(const struct checkpoint *checkpoint)
{
	each_file (file, checkpoint)
		if ((file->marks & FILE_FRESH) && !(file->marks & FILE_WITNESSED))
			return true;
	return false;
}

void detector_writer_seen(struct detector *detector, int pid)
{
	struct writer *writer;
	bool any = false;

	each_under_way (checkpoint, &detector->table) {
		if (checkpoint->settled || !is_untracked(checkpoint))
			continue;
		checkpoint_add_writer(checkpoint, pid);
		any = true;
	}
	writer = any ? writer_table_add(&detector->writers, pid)
		     : writer_table_find(&detector->writers, pid);
	if (writer)
		writer->closed = false;
}

bool detector_waits_for_untracked(const struct detector *detector, int64_t now_ms)
{
	/* Only the kernel has reported its writes, and it is quiet; but has somebody still a file
	 * of it open? */
	each_under_way (checkpoint, &detector->table)
		if (checkpoint_any(checkpoint, FILE_UNCLOSED) &&
		    detector_still_ms(detector, checkpoint, checkpoint->last_ms, now_ms) >=
			    detector->quiet_ms &&
		    !detector_is_held(detector, checkpoint))
			return true;
	return false;
}

void detector_all_closed(struct detector *detector, const char *path)
{
	struct tracked_file *file = checkpoint_table_find(&detector->table, path);

	if (file)
		file->marks &= ~(unsigned)FILE_UNCLOSED;
}

/* --- reports that may be lost --- */

/* True from the second verification on: its last reports have certainly been handed in by then.
 * Within one, it may have ended after those that were handed in. */
static bool confirm_gone(struct detector *detector, int pid)
{
	struct writer *writer = writer_table_add(&detector->writers, pid);

	if (writer->gone == 0)
		writer->gone = detector->verifications;
	return writer->gone < detector->verifications;
}

/* The report of the close was lost, or the process closed it without the library. */
static void drop_closed(struct detector *detector, struct writer_descriptor *open, int64_t now_ms)
{
	auto_free char *path = text_copy(open->path);

	writer_table_close(&detector->writers, open);
	detector_end_slow(detector, path, 0, now_ms);
	if (checkpoint_table_find(&detector->table, path))
		detector_touch(detector, path, 0, 0, now_ms);
}

void detector_verify(struct detector *detector, detector_query_fd_fn *held, void *argument,
		     int64_t now_ms)
{
	struct writer_table *writers = &detector->writers;

	detector_settle(detector, 0, now_ms);
	detector->needs_verify = false;
	detector->verifications++;
	for (size_t i = 0; i < writers->open_count;) {
		struct writer_descriptor *open = &writers->opens[i];
		int pid = open->pid;
		const struct writer *writer = writer_table_find(writers, pid);
		enum open_files_descriptor answer;

		/* /proc of another PID namespace cannot be read. A file that the kernel reports as
		 * closed and the shim does not was closed by the end of the process. */
		if (writer && writer->elsewhere)
			answer = open->closed ? OPEN_FILES_DESCRIPTOR_GONE
					      : OPEN_FILES_DESCRIPTOR_OPEN;
		else
			answer = held(argument, pid, open->descriptor);

		if (answer == OPEN_FILES_DESCRIPTOR_CLOSED) {
			drop_closed(detector, open, now_ms);
		} else if (answer == OPEN_FILES_DESCRIPTOR_GONE && confirm_gone(detector, pid)) {
			/* It removes at least this descriptor, so that the loop advances. */
			detector_process_ended(detector, pid, WRITER_END_UNKNOWN, now_ms);
		} else {
			detector->needs_verify |= answer == OPEN_FILES_DESCRIPTOR_GONE;
			i++;
		}
	}
}

bool detector_needs_verify(const struct detector *detector)
{
	return detector->needs_verify && detector->writers.open_count > 0;
}
