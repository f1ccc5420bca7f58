/* What the shim's reports mean for the burst under way. */
#include "base/cleanup.h"
#include "base/text.h"
#include "detector.h"

static void speaker(struct sealing *sealing, const struct shim_message *message)
{
	writers_add(&sealing->burst.writers, message->pid)->speaks = true;
}

static void shim_opened(struct sealing *sealing, const struct shim_message *message, int64_t now_ms)
{
	unsigned marks = BURST_SEEN | (message->flags & SHIM_FLAG_EMPTY ? BURST_FRESH : 0);

	if (sealing_ignores(sealing, message->path))
		return;
	burst_touch(&sealing->burst, message->path, marks, now_ms);
	path_set_unmark(&sealing->burst.paths, message->path, BURST_WRITTEN);
	*writers_add(&sealing->burst.writers, message->pid) =
		(struct writer){.pid = message->pid, .speaks = true};
	writers_open(&sealing->burst.writers, message->pid, message->descriptor, message->path);
}

static void shim_closed(struct sealing *sealing, const struct shim_message *message, int64_t now_ms)
{
	struct burst *burst = &sealing->burst;
	struct writer_open *open =
		writers_find_open(&burst->writers, message->pid, message->descriptor);
	/* Where /proc is not mounted, only the name at the opening is known; and what was renamed since, says the kernel, which is heard
	 * first, may be reported under the name before. */
	bool named = *message->path && !(open && open->renamed);
	auto_free char *path = text_copy(open && !named ? open->path : message->path);

	if (!open && (sealing_ignores(sealing, path) || !*path))
		return;
	if (open)
		writers_close(&burst->writers, open);
	speaker(sealing, message);
	if (message->flags & SHIM_FLAG_DELETED) {
		/* The name is another file's by now, or nobody's. */
		burst_write(burst, now_ms);
		return;
	}
	burst_touch(burst, path, BURST_SEEN, now_ms);
	path_set_unmark(&burst->paths, path, BURST_WRITTEN);
	burst_closed(burst, path, !(message->flags & SHIM_FLAG_FAILED));
}

static void shim_linked(struct sealing *sealing, const struct shim_message *message, int64_t now_ms)
{
	struct writer_open *open =
		writers_find_open(&sealing->burst.writers, message->pid, message->descriptor);
	unsigned inherited = path_set_marks(&sealing->burst.paths, message->path) & BURST_TORN;

	if (!*message->path2 || sealing_ignores(sealing, message->path2))
		return;
	if (open) {
		inherited = path_set_marks(&sealing->burst.paths, open->path) &
			    (BURST_TORN | BURST_FRESH);
		writers_rename_open(open, message->path2);
	}
	speaker(sealing, message);
	burst_touch(&sealing->burst, message->path2, BURST_SEEN | inherited, now_ms);
	path_set_unmark(&sealing->burst.paths, message->path2, BURST_WRITTEN);
}

static void shim_exiting(
	struct sealing *sealing, const struct shim_message *message, int64_t now_ms)
{
	bool flushed = !(message->flags & SHIM_FLAG_UNFLUSHED);
	struct writer *writer = writers_find(&sealing->burst.writers, message->pid);
	bool any = burst_close_all(&sealing->burst, message->pid, flushed);

	if (writer) {
		writer->exiting = true;
		writer->failed = message->flags & SHIM_FLAG_FAILED;
		writer->open_at_exit = any;
	}
	if (any && !flushed)
		burst_tear(&sealing->burst, now_ms);
	else if (any)
		burst_write(&sealing->burst, now_ms);
	/* By this number nobody will tell of its end. */
	if (message->flags & SHIM_FLAG_ELSEWHERE)
		sealing_process_ended(sealing, message->pid, SEALING_GONE, now_ms);
}

static void shim_duplicated(
	struct sealing *sealing, const struct shim_message *message, int64_t now_ms)
{
	bool named = !(message->flags & SHIM_FLAG_DELETED);

	if (sealing_ignores(sealing, message->path))
		return;
	burst_touch(&sealing->burst, named ? message->path : "", BURST_SEEN, now_ms);
	speaker(sealing, message);
	writers_open(&sealing->burst.writers, message->pid, message->descriptor, message->path);
}

static void shim_renamed(
	struct sealing *sealing, const struct shim_message *message, int64_t now_ms)
{
	/* Marks are moved by the kernel's two events: it sees every rename, and moving them twice would undo it. */
	if (sealing_ignores(sealing, *message->path2 ? message->path2 : message->path))
		return;
	burst_touch(&sealing->burst, message->path2, 0, now_ms);
	speaker(sealing, message);
}

void sealing_shim(struct sealing *sealing, const struct shim_message *message, int64_t now_ms)
{
	struct writer *writer;

	burst_observe(&sealing->burst, now_ms);
	if (message->lost) {
		burst_write(&sealing->burst, now_ms);
		sealing->in_doubt = true;
		return;
	}
	switch (message->event) {
	case SHIM_HELLO:
		/* An exec has closed what was not inherited; what was, and is meant for writing, is reported next. */
		if (burst_close_all(&sealing->burst, message->pid, true))
			burst_write(&sealing->burst, now_ms);
		break;
	case SHIM_OPENED:
		shim_opened(sealing, message, now_ms);
		break;
	case SHIM_CLOSED:
		shim_closed(sealing, message, now_ms);
		break;
	case SHIM_DUPLICATED:
		shim_duplicated(sealing, message, now_ms);
		break;
	case SHIM_RENAMED:
		shim_renamed(sealing, message, now_ms);
		break;
	case SHIM_LINKED:
		shim_linked(sealing, message, now_ms);
		break;
	case SHIM_UNLINKED:
		burst_change(&sealing->burst, now_ms);
		break;
	case SHIM_EXITING:
		shim_exiting(sealing, message, now_ms);
		break;
	case SHIM_HELD: /* no word about files */
		break;
	}
	writer = writers_find(&sealing->burst.writers, message->pid);
	if (writer)
		writer->elsewhere = message->flags & SHIM_FLAG_ELSEWHERE;
}
