/* What the shim's reports mean. See detector.h. */
#include "base/cleanup.h"
#include "base/text.h"
#include "detector_parts.h"

#include <string.h>

static void note_speaking_process(struct detector *detector, const struct shim_message *message)
{
	writer_table_add(&detector->writers, message->pid)->speaks = true;
}

static void unmark(struct tracked_file *file, unsigned marks)
{
	if (file)
		file->marks &= ~marks;
}

static void shim_opened(struct detector *detector, const struct shim_message *message,
			int64_t now_ms)
{
	bool empty = message->flags & SHIM_FLAG_EMPTY;
	unsigned marks = FILE_REPORTED | (empty ? FILE_CREATED : 0);
	struct tracked_file *file;
	bool again;

	if (detector_passes_over(detector, message->path))
		return;
	file = checkpoint_table_find(&detector->table, message->path);
	again = file && (file->marks & FILE_WITNESSED);
	if (empty)
		detector_begin_anew(detector, file);
	else if (!writer_table_has_open(&detector->writers, message->path))
		unmark(file, FILE_CREATED | FILE_NEW);
	if (again)
		unmark(file, FILE_NEW);
	file = detector_touch(detector, message->path, marks, message->pid, now_ms);
	/* Also in the save that it was closed in, which may not be decided yet. */
	if (file && again)
		detector_begin_again(detector, file, now_ms);
	unmark(file, FILE_UNCLOSED);
	*writer_table_add(&detector->writers, message->pid) =
		(struct writer){.pid = message->pid, .speaks = true};
	writer_table_open(&detector->writers, message->pid, message->descriptor, message->path);
}

void detector_file_closed(struct detector *detector, struct tracked_file *file, bool complete,
			  int64_t now_ms)
{
	/* It may have more than one descriptor: that the others are closed mends nothing. */
	if (!complete) {
		file->marks = (file->marks & ~(unsigned)FILE_CREATED) | FILE_TORN;
		return;
	}
	if (writer_table_has_open(&detector->writers, file->path))
		return;
	if (file->marks & FILE_CREATED)
		file->marks &= ~(unsigned)FILE_TORN;
	detector_note_whole(detector, file);
	/* Another process may hold it too, by a fork that nobody reports. */
	if (!(file->marks & FILE_HELD))
		file->marks |= FILE_WITNESSED;
	detector_file_finished(detector, file, now_ms);
}

static void shim_closed(struct detector *detector, const struct shim_message *message,
			int64_t now_ms)
{
	struct writer_descriptor *open =
		writer_table_find_open(&detector->writers, message->pid, message->descriptor);
	/* Without /proc the shim knows no current name. And if the kernel has reported a rename,
	 * the shim's report may still carry the old name, because the kernel's events are handed in
	 * first. In both cases the name in the table is right. */
	bool named = *message->path && !(open && open->renamed);
	auto_free char *path = text_copy(open && !named ? open->path : message->path);
	struct tracked_file *file;

	if (!open && (!*path || detector_passes_over(detector, path)))
		return;
	if (open)
		writer_table_close(&detector->writers, open);
	note_speaking_process(detector, message);
	if (message->flags & SHIM_FLAG_DELETED) {
		/* The file was deleted: another file may have its name. */
		file = checkpoint_table_find(&detector->table, path);
		unmark(file, FILE_UNCLOSED);
		detector->generation++;
		return;
	}
	detector_end_slow(detector, path, message->pid, now_ms);
	detector_note_whole(detector, checkpoint_table_find(&detector->table, path));
	file = detector_touch(detector, path, FILE_REPORTED, message->pid, now_ms);
	if (!file)
		return;
	unmark(file, FILE_UNCLOSED);
	detector_file_closed(detector, file, !(message->flags & SHIM_FLAG_FAILED), now_ms);
}

/* A new name for a file; an O_TMPFILE gets its first one. The new name inherits whether the content
 * is torn. */
static void shim_linked(struct detector *detector, const struct shim_message *message,
			int64_t now_ms)
{
	struct writer_descriptor *open =
		writer_table_find_open(&detector->writers, message->pid, message->descriptor);
	struct tracked_file *source =
		checkpoint_table_find(&detector->table, open ? open->path : message->path);
	unsigned inherited =
		source ? source->marks & (FILE_TORN | FILE_CREATED | FILE_WITNESSED) : 0;
	struct tracked_file *file;

	if (!*message->path2 || detector_passes_over(detector, message->path2))
		return;
	if (open)
		writer_table_rename_open(open, message->path2);
	note_speaking_process(detector, message);
	/* The file without a name is the one that has one now. */
	if (open && source && (source->marks & FILE_FRESH) && source->path[0] == '#')
		checkpoint_table_remove(&detector->table, source);
	file = detector_touch(detector, message->path2, FILE_REPORTED, message->pid, now_ms);
	if (!file)
		return;
	unmark(file, FILE_UNCLOSED);
	file->marks |= inherited;
	if ((file->marks & FILE_WITNESSED) &&
	    !writer_table_has_open(&detector->writers, file->path))
		detector_file_finished(detector, file, now_ms);
}

static void shim_exiting(struct detector *detector, const struct shim_message *message,
			 int64_t now_ms)
{
	bool flushed = !(message->flags & SHIM_FLAG_UNFLUSHED);
	struct writer *writer = writer_table_find(&detector->writers, message->pid);
	bool any = detector_close_all(detector, message->pid, flushed, now_ms);

	if (writer) {
		writer->exiting = true;
		writer->failed = message->flags & SHIM_FLAG_FAILED;
		writer->open_at_exit = any;
	}
	/* Nobody can reap a PID of another namespace for us: this report is the end. */
	if (message->flags & SHIM_FLAG_FOREIGN_PIDNS)
		detector_process_ended(detector, message->pid, WRITER_END_UNKNOWN, now_ms);
}

static void shim_duplicated(struct detector *detector, const struct shim_message *message,
			    int64_t now_ms)
{
	bool named = !(message->flags & SHIM_FLAG_DELETED) && *message->path;

	if (detector_passes_over(detector, message->path))
		return;
	if (named)
		detector_touch(detector, message->path, FILE_REPORTED, message->pid, now_ms);
	note_speaking_process(detector, message);
	writer_table_open(&detector->writers, message->pid, message->descriptor, message->path);
}

struct rename {
	struct detector *detector;
	const struct shim_message *message;
	int64_t now_ms;
};

/*
 * The kernel's events are handed in first, and may be ahead: then the file has its new name
 * already, and the shim's reports about the old one have made an entry for a file that is gone.
 * What they say belongs to the file with the new name.
 */
static void join_renamed(void *argument, struct tracked_file *file)
{
	struct rename *rename = argument;
	struct detector *detector = rename->detector;
	const struct shim_message *message = rename->message;
	auto_free char *path =
		text_format("%s%s", message->path2, file->path + strlen(message->path));
	struct tracked_file *there = checkpoint_table_find(&detector->table, path);
	bool backup;

	/* One at rest is about to be replaced: then this report is the one that is ahead. */
	if (!there || !(there->marks & FILE_FRESH) || !(file->marks & FILE_REPORTED) ||
	    (file->marks & FILE_UNCLOSED))
		return;
	there->marks |= file->marks & (FILE_REPORTED | FILE_CREATED | FILE_WITNESSED);
	/* It was found in a directory that was just made, and nobody has written to it since. */
	if ((file->marks & FILE_WITNESSED) && !(there->marks & FILE_HELD))
		there->marks &= ~(unsigned)FILE_UNCLOSED;
	there->pid = file->pid;
	checkpoint_add_writer(there->checkpoint, file->pid);
	/* Here as where the kernel tells of it. */
	backup = checkpoint_name_is_backup(message->path2, message->path);
	if (!*file->checkpoint->key && !backup)
		detector_note_renamed(detector, file);
	/* The next save may have put it aside and written its name again. */
	if (!backup || !detector_look(detector, file->path).exists)
		checkpoint_table_remove(&detector->table, file);
	if (there->marks & FILE_WITNESSED)
		detector_file_finished(detector, there, rename->now_ms);
}

/* A file of which it is only known that it was moved there. */
static bool is_moved_from_nowhere(const struct detector *detector, const char *path)
{
	const struct tracked_file *file = checkpoint_table_find(&detector->table, path);

	return file && (file->marks & FILE_FRESH) &&
	       !(file->marks & (FILE_WITNESSED | FILE_REPORTED | FILE_CREATED | FILE_HELD)) &&
	       file->pid == 0;
}

/*
 * A rename that the kernel has not told, or only where it went: the directory was not watched yet.
 * Its events are handed in first, so that it has told all others by now. The file may have been
 * moved on since, or deleted, which the next reports say.
 */
static bool is_untold(struct detector *detector, const struct shim_message *message)
{
	const struct checkpoint_table *table = &detector->table;

	return checkpoint_table_any_below(table, message->path) &&
	       (!checkpoint_table_any_below(table, message->path2) ||
		is_moved_from_nowhere(detector, message->path2)) &&
	       !detector_look(detector, message->path).exists;
}

/* Its writer has written it elsewhere, and moves it to its place as the last thing that it does.
 * Nothing was reported of it before, because it was not in the directory. */
static void arrive_from_outside(void *argument, struct tracked_file *file)
{
	struct rename *rename = argument;

	if (!(file->marks & FILE_FRESH) || (file->marks & (FILE_HELD | FILE_REPORTED)))
		return;
	file->pid = rename->message->pid;
	detector_find_siblings(rename->detector, file, file->pid, rename->now_ms);
	detector_note_sibling(rename->detector, file, file->pid);
	checkpoint_add_writer(file->checkpoint, file->pid);
	unmark(file, FILE_UNCLOSED);
	file->marks |= FILE_REPORTED | FILE_WITNESSED;
	detector_file_finished(rename->detector, file, rename->now_ms);
}

static void shim_renamed(struct detector *detector, const struct shim_message *message,
			 int64_t now_ms)
{
	struct rename rename = {detector, message, now_ms};
	struct tracked_file *file;

	note_speaking_process(detector, message);
	/* "" is a name outside of the directory. */
	if (!*message->path2)
		return;
	if (!*message->path) {
		checkpoint_table_each_below(&detector->table, message->path2, arrive_from_outside,
					    &rename);
		return;
	}
	checkpoint_table_each_below(&detector->table, message->path, join_renamed, &rename);
	if (is_untold(detector, message))
		detector_rename_untold(detector, message->path, message->path2, now_ms);
	/* The kernel's two events have moved what is known, because the kernel sees every rename.
	 * The report adds by whom. */
	file = checkpoint_table_find(&detector->table, message->path2);
	if (!file)
		detector_note_placed(detector, message->path2, NULL);
	else if (file->marks & FILE_FRESH) {
		file->pid = message->pid;
		checkpoint_add_writer(file->checkpoint, message->pid);
	}
}

/* The same for a file that was deleted. */
static void shim_unlinked(struct detector *detector, const struct shim_message *message,
			  int64_t now_ms)
{
	struct tracked_file *file = checkpoint_table_find(&detector->table, message->path);

	detector->generation++;
	if (!file || !(file->marks & FILE_REPORTED) || (file->marks & FILE_UNCLOSED) ||
	    detector_look(detector, message->path).exists)
		return;
	detector_learn_before_removal(detector, file->checkpoint, now_ms);
	checkpoint_table_remove(&detector->table, file);
}

void detector_handle_shim(struct detector *detector, const struct shim_message *message,
			  int64_t now_ms)
{
	struct writer *writer;

	detector_settle(detector, 0, now_ms);
	if (message->lost) {
		detector_touch_all(detector, now_ms);
		for (size_t i = 0; i < detector->writers.open_count; i++)
			detector->writers.opens[i].unsure = true;
		detector->needs_verify = true;
		return;
	}
	switch (message->event) {
	case SHIM_HELLO:
		/* exec has closed the descriptors with FD_CLOEXEC. The shim reports the inherited
		 * ones that are open for writing next. */
		detector_close_all(detector, message->pid, true, now_ms);
		break;
	case SHIM_OPENED:
		shim_opened(detector, message, now_ms);
		break;
	case SHIM_CLOSED:
		shim_closed(detector, message, now_ms);
		break;
	case SHIM_DUPLICATED:
		shim_duplicated(detector, message, now_ms);
		break;
	case SHIM_RENAMED:
		shim_renamed(detector, message, now_ms);
		break;
	case SHIM_LINKED:
		shim_linked(detector, message, now_ms);
		break;
	case SHIM_UNLINKED:
		shim_unlinked(detector, message, now_ms);
		break;
	case SHIM_EXITING:
		shim_exiting(detector, message, now_ms);
		break;
	case SHIM_SIGTERM_HELD: /* not about files */
		break;
	}
	writer = writer_table_find(&detector->writers, message->pid);
	if (writer)
		writer->elsewhere = message->flags & SHIM_FLAG_FOREIGN_PIDNS;
}
