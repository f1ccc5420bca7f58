/* What the kernel's events and the scans of the directory mean. See detector.h. */
#include "base/cleanup.h"
#include "base/text.h"
#include "detector_parts.h"

#include <stdlib.h>
#include <string.h>

/* --- renames and deletions --- */

struct move {
	struct detector *detector;
	const char *from, *to;
	int64_t now_ms;
	/* A directory: all that is known of its files moves with it. */
	bool directory;
	bool complete; /* and all of them belong to complete checkpoints */
	unsigned give; /* FILE_NEWEST: it takes the place of such a file */
	enum verdict_reason reason;
	int64_t last_ms, stalled_ms; /* the last write to any of them */
};

static void note_moving_file(void *argument, struct tracked_file *file)
{
	struct move *move = argument;
	const struct checkpoint *checkpoint = file->checkpoint;
	bool decided = checkpoint->settled || checkpoint->state == CHECKPOINT_COMPLETE ||
		       (!*checkpoint->key && !(file->marks & FILE_FRESH));

	if (file->marks & FILE_RUNNING)
		return;
	move->complete &= decided && !(file->marks & FILE_DAMAGED);
	move->reason = checkpoint->reason;
	if (checkpoint->last_ms < move->last_ms)
		return;
	move->last_ms = checkpoint->last_ms;
	move->stalled_ms = checkpoint->stalled_ms;
}

/* A rename of the directory is no write: nothing begins by it, and no verdict is withdrawn. */
static struct tracked_file *move_with_directory(const struct move *move, struct tracked_file *file)
{
	struct detector *detector = move->detector;
	struct checkpoint *checkpoint = file->checkpoint;
	struct checkpoint was = *checkpoint;
	bool said = was.own_word > 0 && was.own_word == was.changed;
	uint64_t saves = detector->saves;
	int64_t last_ms = detector->last_ms;
	struct tracked_file *moved =
		detector_touch_moved(detector, file->path, file->pid, move->now_ms);

	detector->saves = saves;
	detector->last_ms = last_ms;
	if (!moved || moved->checkpoint != checkpoint)
		return moved;
	checkpoint->last_ms = was.last_ms > move->last_ms ? was.last_ms : move->last_ms;
	checkpoint->stalled_ms = move->stalled_ms;
	checkpoint->pause_ms = was.pause_ms;
	checkpoint->rewritten = was.rewritten;
	checkpoint->later = was.later;
	checkpoint->step = was.step;
	checkpoint->own_word = said ? checkpoint->changed : 0;
	return moved;
}

/* Remembers that a fixed name was deleted: the save that begins with it writes the name again. */
static void note_name_deleted(struct detector *detector, const struct tracked_file *file)
{
	detector->deleted_name = file->name;
	detector->deleted_newest = file->marks & FILE_NEWEST;
	file->checkpoint->gone |= detector->deleted_newest;
}

/* True if a rename puts a fixed name aside: the file is at rest, or its new name is a backup's.
 * Such a rename writes nothing: the job has only deleted the old name. */
static bool is_put_aside(const struct move *move, const struct tracked_file *file, const char *path)
{
	return !*file->checkpoint->key && checkpoint_name_parse(path).number < 0 &&
	       (!(file->marks & FILE_FRESH) || (!move->directory && !(file->marks & FILE_HELD) &&
						checkpoint_name_is_backup(path, file->path)));
}

/* A file keeps under its new name what is known of its content. */
static void move_file(void *argument, struct tracked_file *file)
{
	struct move *move = argument;
	auto_free char *path = text_format("%s%s", move->to, file->path + strlen(move->from));
	unsigned kept = file->marks & (FILE_DAMAGED | FILE_REPORTED | FILE_UNCLOSED | FILE_CREATED |
				       FILE_WITNESSED | FILE_HELD | FILE_REWRITES);
	int64_t begun_ms = file->begun_ms;
	struct tracked_file *moved;

	if (detector_passes_over(move->detector, path)) {
		checkpoint_table_remove(&move->detector->table, file);
		return;
	}
	if (is_put_aside(move, file, path)) {
		note_name_deleted(move->detector, file);
		file->marks &= ~(unsigned)FILE_NEWEST;
		file->checkpoint->changed = ++move->detector->generation;
		file->here_ms = move->now_ms;
		checkpoint_table_move(&move->detector->table, file, path);
		return;
	}
	if (!*file->checkpoint->key)
		detector_note_renamed(move->detector, file);
	file->checkpoint->put_aside |= checkpoint_name_is_backup(path, file->path);
	checkpoint_table_move(&move->detector->table, file, path);
	moved = move->directory ? move_with_directory(move, file)
				: detector_touch(move->detector, path, 0, file->pid, move->now_ms);
	if (!moved)
		return;
	moved->marks |= kept | move->give;
	/* There may have been another one of that name. */
	moved->marks &= ~(unsigned)FILE_NEW;
	moved->written = 0;
	if (begun_ms > 0 && begun_ms < moved->checkpoint->begun_ms)
		moved->checkpoint->begun_ms = begun_ms;
	if (moved->marks & FILE_WITNESSED)
		detector_file_finished(move->detector, moved, move->now_ms);
}

void detector_note_placed(struct detector *detector, const char *directory,
			  const enum verdict_reason *was_complete)
{
	auto_free char *key = text_format("%s/", directory);

	each_under_way (checkpoint, &detector->table) {
		bool all = true;

		if (*checkpoint->key && !text_equal(checkpoint->key, key))
			continue;
		for (const struct tracked_file *file = checkpoint->files; file && all;
		     file = file->sibling)
			all = !(file->marks & FILE_FRESH) ||
			      path_set_is_below(file->path, directory);
		if (!all || detector_is_open(detector, checkpoint))
			continue;
		checkpoint->committed = checkpoint->placed = checkpoint->changed;
		if (was_complete) {
			checkpoint->settled = true;
			checkpoint->reason = *was_complete;
		}
	}
}

/* A link is whole as soon as it has its name. When it was made under a temporary one, nobody may
 * have seen that it is a link. */
static void note_symlink(struct detector *detector, const char *path, int64_t now_ms)
{
	struct tracked_file *file = checkpoint_table_find(&detector->table, path);

	if (!file || (file->marks & FILE_WITNESSED))
		return;
	file->marks &= ~(unsigned)(FILE_UNCLOSED | FILE_HELD);
	file->marks |= FILE_REPORTED | FILE_WITNESSED;
	detector_file_finished(detector, file, now_ms);
}

static void moved_to(struct detector *detector, const struct dir_event *event, int64_t now_ms)
{
	bool known = event->from != NULL;
	bool file = known && checkpoint_table_find(&detector->table, event->from);
	struct move move = {
		.detector = detector,
		.from = event->from,
		.to = event->path,
		.now_ms = now_ms,
		.directory = known && !file,
		.complete = true,
	};
	const struct tracked_file *there = checkpoint_table_find(&detector->table, event->path);

	/* A rename over a file of a numbered one writes that one anew. */
	if (there && *there->checkpoint->key && !(there->marks & FILE_FRESH))
		detector_touch(detector, event->path, 0, 0, now_ms);
	move.give = file && there ? there->marks & FILE_NEWEST : 0;
	checkpoint_table_remove_below(&detector->table, event->path);
	if (known) {
		detector->generation++;
		checkpoint_table_each_below(&detector->table, event->from, note_moving_file, &move);
		checkpoint_table_each_below(&detector->table, event->from, move_file, &move);
		writer_table_rename_below(&detector->writers, event->from, event->path);
	}
	if (known && file && event->symlink)
		note_symlink(detector, event->path, now_ms);
	/* What lay there before the job is put aside as what it has written is. */
	if (known && !file && event->directory)
		detector_note_placed(detector, event->path, move.complete ? &move.reason : NULL);
	else if (!file && !event->directory && !detector_passes_over(detector, event->path) &&
		 !(known && checkpoint_name_is_backup(event->path, event->from)))
		detector_touch(detector, event->path,
			       event->symlink ? FILE_REPORTED | FILE_WITNESSED : 0, 0, now_ms);
}

void detector_rename_untold(struct detector *detector, const char *from, const char *to,
			    int64_t now_ms)
{
	struct dir_event event = {
		.change = DIR_MOVED_TO,
		.directory = !checkpoint_table_find(&detector->table, from),
		.from = from,
		.path = to,
	};

	moved_to(detector, &event, now_ms);
}

/* Is it all that the checkpoint has in one of several directories? */
static bool is_last_of_part(const struct tracked_file *file)
{
	each_file (other, file->checkpoint)
		if (other != file && other->kind == file->kind)
			return false;
	return file->checkpoint->file_count > 1;
}

/* A file that goes while its checkpoint is under way is part of the save. If it is one of a
 * complete checkpoint, that one is judged again without it: it is being removed, unless nothing
 * follows. */
static void note_deletion(struct detector *detector, struct tracked_file *file, int64_t now_ms)
{
	struct checkpoint *checkpoint = file->checkpoint;

	detector->generation++;
	if (file->marks & FILE_RUNNING)
		return;
	/* The old ones may be kept in another directory only. */
	if (is_last_of_part(file) && checkpoint->reduced) {
		checkpoint_change(checkpoint, ~0u, FILE_FRESH, 0);
		checkpoint_set_state(&detector->table, checkpoint, CHECKPOINT_COMPLETE);
		checkpoint->reduced = false;
	} else if (*checkpoint->key && checkpoint->state == CHECKPOINT_COMPLETE &&
		   checkpoint->file_count > 1 && !is_last_of_part(file)) {
		checkpoint_change(checkpoint, ~0u, 0, FILE_FRESH);
		checkpoint_set_state(&detector->table, checkpoint, CHECKPOINT_UNDER_WAY);
		checkpoint->reduced = true;
	}
	if (checkpoint->state == CHECKPOINT_UNDER_WAY)
		detector_note_change(detector, checkpoint, now_ms);
}

struct deletion {
	struct detector *detector;
	int64_t now_ms;
};

static void delete_file(void *argument, struct tracked_file *file)
{
	struct deletion *deletion = argument;

	if (!*file->checkpoint->key)
		note_name_deleted(deletion->detector, file);
	detector_learn_before_removal(deletion->detector, file->checkpoint, deletion->now_ms);
	note_deletion(deletion->detector, file, deletion->now_ms);
	checkpoint_table_remove(&deletion->detector->table, file);
}

static void deleted(struct detector *detector, const char *path, int64_t now_ms)
{
	struct deletion deletion = {detector, now_ms};

	detector->generation++;
	checkpoint_table_each_below(&detector->table, path, delete_file, &deletion);
}

/* --- writes --- */

static unsigned marks_of(const struct detector *detector, const char *path)
{
	const struct tracked_file *file = checkpoint_table_find(&detector->table, path);

	return file ? file->marks : 0;
}

/* One that was deleted a moment ago is being replaced. */
static void note_new(const struct detector *detector, struct tracked_file *file)
{
	if (file->name != detector->deleted_name)
		file->marks |= FILE_NEW;
	else if (detector->deleted_newest)
		file->marks |= FILE_NEWEST;
}

static void created(struct detector *detector, const struct dir_event *event, int64_t now_ms)
{
	/* It may be open, with its content still in the writer's buffer; or it is a link. */
	unsigned give = marks_of(detector, event->path) & FILE_REPORTED ? 0 : FILE_UNCLOSED;
	struct tracked_file *file;

	if (event->symlink)
		give = FILE_REPORTED | FILE_WITNESSED;
	/* The shim's report of the open came first. */
	if (give == 0 && (marks_of(detector, event->path) & FILE_FRESH)) {
		note_new(detector, checkpoint_table_find(&detector->table, event->path));
		return;
	}
	file = detector_touch(detector, event->path, give | FILE_CREATED, 0, now_ms);
	if (file)
		note_new(detector, file);
	if (file && event->symlink)
		detector_file_finished(detector, file, now_ms);
}

/* If the shim reports the file as open, its report of the close ends the write. Otherwise the
 * writer is unknown, and only the kernel's close event ends it. */
static void modified(struct detector *detector, const char *path, int64_t now_ms)
{
	struct tracked_file *file = checkpoint_table_find(&detector->table, path);
	unsigned marks = marks_of(detector, path);
	bool reported = (marks & FILE_REPORTED) && writer_table_has_open(&detector->writers, path);
	/* Only its size tells that it is written anew from empty. */
	bool anew = file && !reported && !(marks & (FILE_FRESH | FILE_SLOW)) &&
		    detector_shrunk(detector, file);

	if (anew)
		detector_begin_anew(detector, file);
	/* It was closed before. */
	if (file && !reported && !(marks & FILE_UNCLOSED))
		file->marks &= ~(unsigned)FILE_NEW;
	file = detector_touch(detector, path,
			      FILE_HELD | (anew ? FILE_CREATED : 0) |
				      (reported ? 0 : FILE_UNCLOSED) |
				      (marks & FILE_TORN ? FILE_REWRITTEN : 0),
			      0, now_ms);
	/* What an open cuts off is told before the open: the next writing begins here. */
	if (file && !reported && (marks & FILE_WITNESSED))
		detector_begin_again(detector, file, now_ms);
}

/* Without an event, nothing would tell of its close: it waits for quiet. */
void detector_note_empty(struct detector *detector, const char *path, int64_t now_ms)
{
	struct tracked_file *file = checkpoint_table_find(&detector->table, path);

	if (!file || file->size == 0 || (file->marks & (FILE_FRESH | FILE_SLOW | FILE_RUNNING)))
		return;
	file = detector_touch(detector, path, FILE_CREATED, 0, now_ms);
	if (!file)
		return;
	file->begun_ms = now_ms;
	file->size = 0;
}

static void closed(struct detector *detector, const char *path, int64_t now_ms)
{
	unsigned marks = marks_of(detector, path);
	bool open = writer_table_has_open(&detector->writers, path);
	struct tracked_file *file = checkpoint_table_find(&detector->table, path);

	if (file)
		file->marks &= ~(unsigned)FILE_HELD;
	/* The shim has missed the close (a raw system call), or its report is still to come. */
	if (open)
		detector->needs_verify = true;
	writer_table_close_path(&detector->writers, path);
	if (!open) {
		detector_end_slow(detector, path, 0, now_ms);
		detector_note_whole(detector, file);
	}
	/* The close of a descriptor that has written nothing since the shim's report of the last
	 * one, and so changes nothing. */
	if ((marks & FILE_REPORTED) && !(marks & FILE_UNCLOSED) && !open)
		return;
	file = detector_touch(detector, path, 0, 0, now_ms);
	if (!file)
		return;
	file->marks &= ~(unsigned)(FILE_UNCLOSED | FILE_HELD);
	/* Without the shim, a write and a close by the last writer is all that shows that a torn
	 * file was written anew. */
	if ((marks & (FILE_TORN | FILE_REPORTED | FILE_REWRITTEN)) == (FILE_TORN | FILE_REWRITTEN))
		file->marks &= ~(unsigned)(FILE_TORN | FILE_REWRITTEN);
	if (!open)
		detector_file_finished(detector, file, now_ms);
}

/* The lost events may be the close of an open file, or a write to a closed one. So every file under
 * way counts as open until a search finds that nobody has it open. */
static void rescan(struct detector *detector, int64_t now_ms)
{
	detector_touch_all(detector, now_ms);
	each_checkpoint (checkpoint, &detector->table)
		checkpoint_change(checkpoint, FILE_FRESH, FILE_WITNESSED | FILE_HELD,
				  FILE_UNCLOSED);
	detector->events_lost = true;
	detector->needs_verify = true;
}

static void directory_created(struct detector *detector, const char *path, int64_t now_ms)
{
	detector->made =
		memory_grow(detector->made, detector->made_count + 1, sizeof(detector->made[0]));
	detector->made[detector->made_count++] = (struct made_directory){text_copy(path), now_ms};
}

/* A scan sees neither the writer nor whether the file is open. It is also late: a torn file stays
 * torn, because the write may be older than the tear. What this machine has written since the scan
 * before explains what it finds: that is judged by better evidence. (A machine that writes the same
 * file in the same moment is seen by its next write.) */
static void changed(struct detector *detector, const struct dir_event *event, int64_t now_ms)
{
	struct tracked_file *file = checkpoint_table_find(&detector->table, event->path);
	bool of_member = detector->others_write && (!file || file->here_ms == 0);

	if (file && event->since_ms > 0 && file->here_ms > event->since_ms &&
	    !detector->events_lost)
		return;
	file = detector_touch(detector, event->path,
			      (detector->events_lost ? FILE_UNCLOSED : 0) |
				      (of_member ? FILE_OF_MEMBER : 0),
			      0, now_ms);
	if (file)
		file->here_ms = 0;
}

void detector_handle_kernel(struct detector *detector, const struct dir_event *event,
			    int64_t now_ms)
{
	detector_settle(detector, 0, now_ms);
	if (event->change != DIR_RESCAN && event->change != DIR_MOVED_TO &&
	    detector_passes_over(detector, event->path))
		return;
	switch (event->change) {
	case DIR_CREATED:
		return created(detector, event, now_ms);
	case DIR_MODIFIED:
		return modified(detector, event->path, now_ms);
	case DIR_CHANGED:
		return changed(detector, event, now_ms);
	case DIR_CLOSED_WRITE:
		return closed(detector, event->path, now_ms);
	case DIR_MOVED_TO:
		return moved_to(detector, event, now_ms);
	case DIR_DELETED:
		return deleted(detector, event->path, now_ms);
	case DIR_DIRECTORY_CREATED:
		return directory_created(detector, event->path, now_ms);
	case DIR_RESCAN:
		return rescan(detector, now_ms);
	}
}
