/* What the shim's reports mean for the burst. See detector.h. */
#include "base/cleanup.h"
#include "base/text.h"
#include "detector.h"

static void note_speaking_process(struct detector *detector, const struct shim_message *message)
{
	writer_table_add(&detector->burst.writers, message->pid)->speaks = true;
}

static void shim_opened(struct detector *detector, const struct shim_message *message,
			int64_t now_ms)
{
	unsigned marks =
		WRITE_BURST_SEEN | (message->flags & SHIM_FLAG_EMPTY ? WRITE_BURST_CREATED : 0);

	if (detector_ignores(detector, message->path))
		return;
	write_burst_touch(&detector->burst, message->path, marks, now_ms);
	path_set_unmark(&detector->burst.paths, message->path, WRITE_BURST_WRITTEN);
	*writer_table_add(&detector->burst.writers, message->pid) =
		(struct writer){.pid = message->pid, .speaks = true};
	writer_table_open(&detector->burst.writers, message->pid, message->descriptor,
			  message->path);
}

static void shim_closed(struct detector *detector, const struct shim_message *message,
			int64_t now_ms)
{
	struct write_burst *burst = &detector->burst;
	struct writer_descriptor *open =
		writer_table_find_open(&burst->writers, message->pid, message->descriptor);
	/* Without /proc the shim knows no current name. And if the kernel has reported a rename,
	 * the shim's report may still carry the old name, because the kernel's events are handed in
	 * first. In both cases the name in the table is right. */
	bool named = *message->path && !(open && open->renamed);
	auto_free char *path = text_copy(open && !named ? open->path : message->path);

	if (!open && (detector_ignores(detector, path) || !*path))
		return;
	if (open)
		writer_table_close(&burst->writers, open);
	note_speaking_process(detector, message);
	if (message->flags & SHIM_FLAG_DELETED) {
		/* The file was deleted: another file may have its name. */
		write_burst_write(burst, now_ms);
		return;
	}
	write_burst_touch(burst, path, WRITE_BURST_SEEN, now_ms);
	path_set_unmark(&burst->paths, path, WRITE_BURST_WRITTEN);
	write_burst_close_path(burst, path, !(message->flags & SHIM_FLAG_FAILED));
}

/* A new name for a file; an O_TMPFILE gets its first one. The new name inherits whether the content
 * is torn. */
static void shim_linked(struct detector *detector, const struct shim_message *message,
			int64_t now_ms)
{
	struct writer_descriptor *open =
		writer_table_find_open(&detector->burst.writers, message->pid, message->descriptor);
	unsigned inherited =
		path_set_marks(&detector->burst.paths, message->path) & WRITE_BURST_TORN;

	if (!*message->path2 || detector_ignores(detector, message->path2))
		return;
	if (open) {
		inherited = path_set_marks(&detector->burst.paths, open->path) &
			    (WRITE_BURST_TORN | WRITE_BURST_CREATED);
		writer_table_rename_open(open, message->path2);
	}
	note_speaking_process(detector, message);
	write_burst_touch(&detector->burst, message->path2, WRITE_BURST_SEEN | inherited, now_ms);
	path_set_unmark(&detector->burst.paths, message->path2, WRITE_BURST_WRITTEN);
}

static void shim_exiting(struct detector *detector, const struct shim_message *message,
			 int64_t now_ms)
{
	bool flushed = !(message->flags & SHIM_FLAG_UNFLUSHED);
	struct writer *writer = writer_table_find(&detector->burst.writers, message->pid);
	bool any = write_burst_close_all(&detector->burst, message->pid, flushed);

	if (writer) {
		writer->exiting = true;
		writer->failed = message->flags & SHIM_FLAG_FAILED;
		writer->open_at_exit = any;
	}
	if (any && !flushed)
		write_burst_mark_torn(&detector->burst, now_ms);
	else if (any)
		write_burst_write(&detector->burst, now_ms);
	/* Nobody can reap a PID of another namespace for us: this report is the end. */
	if (message->flags & SHIM_FLAG_FOREIGN_PIDNS)
		detector_process_ended(detector, message->pid, WRITER_END_UNKNOWN, now_ms);
}

static void shim_duplicated(struct detector *detector, const struct shim_message *message,
			    int64_t now_ms)
{
	bool named = !(message->flags & SHIM_FLAG_DELETED);

	if (detector_ignores(detector, message->path))
		return;
	write_burst_touch(&detector->burst, named ? message->path : "", WRITE_BURST_SEEN, now_ms);
	note_speaking_process(detector, message);
	writer_table_open(&detector->burst.writers, message->pid, message->descriptor,
			  message->path);
}

static void shim_renamed(struct detector *detector, const struct shim_message *message,
			 int64_t now_ms)
{
	/* The kernel's two events move the marks, because the kernel sees every rename. Moving them
	 * here as well would undo that. */
	if (detector_ignores(detector, *message->path2 ? message->path2 : message->path))
		return;
	write_burst_touch(&detector->burst, message->path2, 0, now_ms);
	note_speaking_process(detector, message);
}

void detector_handle_shim(struct detector *detector, const struct shim_message *message,
			  int64_t now_ms)
{
	struct writer *writer;

	write_burst_before_event(&detector->burst, now_ms);
	if (message->lost) {
		write_burst_write(&detector->burst, now_ms);
		detector->needs_verify = true;
		return;
	}
	switch (message->event) {
	case SHIM_HELLO:
		/* exec has closed the descriptors with FD_CLOEXEC. The shim reports the inherited
		 * ones that are open for writing next. */
		if (write_burst_close_all(&detector->burst, message->pid, true))
			write_burst_write(&detector->burst, now_ms);
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
		write_burst_change(&detector->burst, now_ms);
		break;
	case SHIM_EXITING:
		shim_exiting(detector, message, now_ms);
		break;
	case SHIM_SIGTERM_HELD: /* not about files */
		break;
	}
	writer = writer_table_find(&detector->burst.writers, message->pid);
	if (writer)
		writer->elsewhere = message->flags & SHIM_FLAG_FOREIGN_PIDNS;
}
