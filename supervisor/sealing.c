#include "sealing.h"

#include "base/text.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* Marks of a path. All but TORN belong to the burst. */
enum {
	DIRTY = 1,     /* touched */
	TORN = 2,      /* its writer died; part of no snapshot */
	SEEN = 4,      /* the shim reports on it, so that the kernel's word on open and closed does not count */
	WRITTEN = 8,   /* the kernel saw a write and no close yet */
	FRESH = 16,    /* opened when it was empty */
	REWRITTEN = 32 /* torn, and the kernel has seen a write since */
};
#define OF_THE_BURST (DIRTY | SEEN | WRITTEN | FRESH | REWRITTEN)

void sealing_init(struct sealing *sealing, int64_t quiet_ms)
{
	*sealing = (struct sealing){.quiet_ms = quiet_ms,
		.request_ms = SEALING_NEVER,
		.first_open_ms = SEALING_NEVER};
}

void sealing_release(struct sealing *sealing)
{
	for (size_t i = 0; i < sealing->ignored_count; i++)
		free(sealing->ignored[i]);
	free(sealing->ignored);
	free(sealing->moved_path);
	writers_release(&sealing->writers);
	path_set_release(&sealing->paths);
}

void sealing_ignore(struct sealing *sealing, const char *pattern)
{
	sealing->ignored = memory_grow(
		sealing->ignored, sealing->ignored_count + 1, sizeof(sealing->ignored[0]));
	sealing->ignored[sealing->ignored_count++] = text_copy(pattern);
}

static bool is_ignored(const struct sealing *sealing, const char *path)
{
	const char *slash = strrchr(path, '/');

	for (size_t i = 0; i < sealing->ignored_count; i++) {
		if (fnmatch(sealing->ignored[i], path, 0) == 0 ||
			(slash && fnmatch(sealing->ignored[i], slash + 1, 0) == 0))
			return true;
	}
	return false;
}

static bool is_being_written(const struct sealing *sealing)
{
	return sealing->writers.open_count > 0 || path_set_any(&sealing->paths, WRITTEN);
}

/* The quiet time has passed, whether or not somebody has asked since. */
static bool is_over(const struct sealing *sealing, int64_t now_ms)
{
	if (!sealing->burst || sealing->over)
		return sealing->burst;
	return now_ms - sealing->last_ms >= sealing->quiet_ms && !is_being_written(sealing);
}

static void end_burst(struct sealing *sealing)
{
	if (sealing->torn)
		path_set_change_all(&sealing->paths, DIRTY, 0, TORN);
	path_set_change_all(&sealing->paths, OF_THE_BURST, OF_THE_BURST, 0);
	sealing->burst = sealing->torn = sealing->over = sealing->settled = false;
	writers_forget_all(&sealing->writers);
}

/* Something was written: a burst begins or goes on. The caller has set `settled` before it changed anything else. */
static void write_seen(struct sealing *sealing, int64_t now_ms)
{
	if (sealing->settled)
		end_burst(sealing);
	sealing->burst = true;
	sealing->last_ms = now_ms;
	sealing->told = SEALING_BUSY;
	sealing->generation++;
	if (sealing->first_open_ms == SEALING_NEVER && sealing->request_ms != SEALING_NEVER)
		sealing->first_open_ms = now_ms;
}

/* A change that is no write, like a deletion: alone it is nothing to save. */
static void change_seen(struct sealing *sealing, int64_t now_ms)
{
	if (sealing->burst && !sealing->settled)
		write_seen(sealing, now_ms);
	else
		sealing->generation++;
}

static void touch(struct sealing *sealing, const char *path, unsigned marks, int64_t now_ms)
{
	write_seen(sealing, now_ms);
	if (*path)
		path_set_mark(&sealing->paths, path, DIRTY | marks);
}

/* Of the burst as far as it has come. What others still write belongs to the same checkpoint: end_burst() tears that. */
static void tear(struct sealing *sealing, int64_t now_ms)
{
	write_seen(sealing, now_ms);
	path_set_change_all(&sealing->paths, DIRTY, FRESH | REWRITTEN, TORN);
	sealing->torn = true;
}

/* The application is done with one descriptor of it. */
static void released(struct sealing *sealing, const char *path, bool complete)
{
	if (!complete)
		path_set_mark(&sealing->paths, path, TORN);
	else if ((path_set_marks(&sealing->paths, path) & FRESH) && !writers_have_open(&sealing->writers, path))
		path_set_unmark(&sealing->paths, path, TORN);
}

static void shim_opened(struct sealing *sealing, const struct shim_message *message, int64_t now_ms)
{
	unsigned marks = SEEN | (message->flags & SHIM_FLAG_EMPTY ? FRESH : 0);

	if (is_ignored(sealing, message->path))
		return;
	touch(sealing, message->path, marks, now_ms);
	path_set_unmark(&sealing->paths, message->path, WRITTEN);
	writers_add(&sealing->writers, message->pid)->exiting = false;
	writers_open(&sealing->writers, message->pid, message->descriptor, message->path);
}

static void shim_closed(struct sealing *sealing, const struct shim_message *message, int64_t now_ms)
{
	struct writer_open *open =
		writers_find_open(&sealing->writers, message->pid, message->descriptor);
	bool complete = !(message->flags & SHIM_FLAG_FAILED);

	if (!open && (is_ignored(sealing, message->path) || !*message->path))
		return;
	if (open)
		writers_close(&sealing->writers, open);
	writers_add(&sealing->writers, message->pid);
	if (!*message->path || (message->flags & SHIM_FLAG_DELETED)) {
		/* It has no name, or a name that is another file's by now. */
		write_seen(sealing, now_ms);
		return;
	}
	touch(sealing, message->path, SEEN, now_ms);
	path_set_unmark(&sealing->paths, message->path, WRITTEN);
	released(sealing, message->path, complete);
}

static void shim_linked(struct sealing *sealing, const struct shim_message *message, int64_t now_ms)
{
	struct writer_open *open =
		writers_find_open(&sealing->writers, message->pid, message->descriptor);
	unsigned inherited = path_set_marks(&sealing->paths, message->path) & TORN;

	if (!*message->path2 || is_ignored(sealing, message->path2))
		return;
	if (open) {
		inherited = path_set_marks(&sealing->paths, open->path) & (TORN | FRESH);
		writers_rename_open(open, message->path2);
	}
	writers_add(&sealing->writers, message->pid);
	touch(sealing, message->path2, SEEN | inherited, now_ms);
}

/* Drops what the process has open; true when there was something. */
static bool release_all(struct sealing *sealing, int pid, bool complete)
{
	char *path;
	bool any = false;

	while ((path = writers_close_next(&sealing->writers, pid))) {
		if (complete)
			released(sealing, path, true);
		free(path);
		any = true;
	}
	return any;
}

static void shim_exiting(struct sealing *sealing, const struct shim_message *message, int64_t now_ms)
{
	bool flushed = !(message->flags & SHIM_FLAG_UNFLUSHED);
	struct writer *writer = writers_find(&sealing->writers, message->pid);
	bool any = release_all(sealing, message->pid, flushed);

	if (writer) {
		writer->exiting = true;
		writer->open_at_exit = any;
	}
	if (any && !flushed)
		tear(sealing, now_ms);
	else if (any)
		write_seen(sealing, now_ms);
}

static void shim_duplicated(
	struct sealing *sealing, const struct shim_message *message, int64_t now_ms)
{
	bool named = !(message->flags & SHIM_FLAG_DELETED);

	if (is_ignored(sealing, message->path))
		return;
	touch(sealing, named ? message->path : "", SEEN, now_ms);
	writers_add(&sealing->writers, message->pid);
	writers_open(&sealing->writers, message->pid, message->descriptor, message->path);
}

static void shim_renamed(struct sealing *sealing, const struct shim_message *message, int64_t now_ms)
{
	/* Marks are moved by the kernel's two events: it sees every rename, and moving them twice would undo it. */
	if (is_ignored(sealing, *message->path2 ? message->path2 : message->path))
		return;
	touch(sealing, message->path2, 0, now_ms);
	writers_add(&sealing->writers, message->pid);
}

void sealing_shim(struct sealing *sealing, const struct shim_message *message, int64_t now_ms)
{
	sealing->settled = is_over(sealing, now_ms);
	if (message->lost) {
		write_seen(sealing, now_ms);
		sealing->in_doubt = true;
		return;
	}
	switch (message->event) {
	case SHIM_HELLO:
		/* An exec has closed what was not inherited; what was, and is meant for writing, is reported next. */
		if (release_all(sealing, message->pid, true))
			write_seen(sealing, now_ms);
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
		change_seen(sealing, now_ms);
		break;
	case SHIM_EXITING:
		shim_exiting(sealing, message, now_ms);
		break;
	}
}

/* What was renamed away and has not come back below the directory is no longer part of it. What has that name by now may be
 * another file, so that descriptors stay until they are closed. */
static void let_moved_go(struct sealing *sealing)
{
	if (sealing->moved_path)
		path_set_remove_below(&sealing->paths, sealing->moved_path);
	free(sealing->moved_path);
	sealing->moved_path = NULL;
}

static void moved_to(struct sealing *sealing, const struct dir_event *event, int64_t now_ms)
{
	if (sealing->moved_path && sealing->moved_cookie == event->cookie) {
		path_set_rename(&sealing->paths, sealing->moved_path, event->path);
		writers_rename_below(&sealing->writers, sealing->moved_path, event->path);
		free(sealing->moved_path);
		sealing->moved_path = NULL;
	} else {
		path_set_remove_below(&sealing->paths, event->path);
	}
	touch(sealing, event->path, 0, now_ms);
}

static void kernel_closed(struct sealing *sealing, const char *path, int64_t now_ms)
{
	unsigned marks = path_set_marks(&sealing->paths, path);

	touch(sealing, path, 0, now_ms);
	path_set_unmark(&sealing->paths, path, WRITTEN);
	if ((marks & (TORN | SEEN | REWRITTEN)) == (TORN | REWRITTEN))
		path_set_unmark(&sealing->paths, path, TORN | REWRITTEN);
	/* By a raw system call, perhaps; or another descriptor of two. */
	if (writers_have_open(&sealing->writers, path))
		sealing->in_doubt = true;
}

void sealing_kernel(struct sealing *sealing, const struct dir_event *event, int64_t now_ms)
{
	unsigned marks;

	if (event->change != DIR_RESCAN && is_ignored(sealing, event->path))
		return;
	sealing->settled = is_over(sealing, now_ms);
	if (sealing->moved_path && event->change != DIR_MOVED_TO &&
		(event->change == DIR_MOVED_FROM || path_set_is_below(event->path, sealing->moved_path)))
		let_moved_go(sealing);
	marks = path_set_marks(&sealing->paths, event->path);
	switch (event->change) {
	case DIR_CREATED:
		touch(sealing, event->path, 0, now_ms);
		break;
	case DIR_MODIFIED:
		touch(sealing, event->path,
			(marks & SEEN ? 0 : WRITTEN) | (marks & TORN ? REWRITTEN : 0), now_ms);
		break;
	case DIR_CLOSED_WRITE:
		kernel_closed(sealing, event->path, now_ms);
		break;
	case DIR_MOVED_FROM:
		change_seen(sealing, now_ms);
		sealing->moved_cookie = event->cookie;
		sealing->moved_path = text_copy(event->path);
		break;
	case DIR_MOVED_TO:
		moved_to(sealing, event, now_ms);
		break;
	case DIR_DELETED:
		change_seen(sealing, now_ms);
		path_set_remove_below(&sealing->paths, event->path);
		break;
	case DIR_DIRECTORY_CREATED:
		change_seen(sealing, now_ms);
		break;
	case DIR_RESCAN:
		/* The close of what was being written may be among what was lost. */
		write_seen(sealing, now_ms);
		path_set_change_all(&sealing->paths, WRITTEN, WRITTEN, 0);
		sealing->in_doubt = true;
		break;
	}
}

void sealing_process_ended(struct sealing *sealing, int pid, enum sealing_end end, int64_t now_ms)
{
	const struct writer *writer = writers_find(&sealing->writers, pid);
	bool wrote = writer != NULL;
	bool exiting = writer && writer->exiting;
	bool flushing = exiting && writer->open_at_exit;
	bool open;

	sealing->settled = is_over(sealing, now_ms);
	open = release_all(sealing, pid, false);
	writers_forget(&sealing->writers, pid);
	if (sealing->settled)
		return;
	/* With a file open: by exit, but past all destructors; or killed, perhaps while exit() flushed. */
	if (open || (flushing && end == SEALING_KILLED))
		tear(sealing, now_ms);
	else if (wrote && !exiting && end != SEALING_EXITED && sealing->burst)
		tear(sealing, now_ms);
}

void sealing_job_ended(struct sealing *sealing, bool clean, int64_t now_ms)
{
	bool open = sealing->writers.open_count > 0;

	sealing->settled = is_over(sealing, now_ms);
	if (!sealing->burst || sealing->settled)
		return;
	while (sealing->writers.open_count > 0)
		writers_close(&sealing->writers, &sealing->writers.opens[0]);
	if (open || !clean)
		tear(sealing, now_ms);
	sealing->over = true;
}

enum sealing_verdict sealing_poll(struct sealing *sealing, int64_t now_ms, int64_t *at_ms)
{
	*at_ms = SEALING_NEVER;
	let_moved_go(sealing);
	if (!sealing->burst)
		return sealing->told = SEALING_NOTHING;
	if (!is_over(sealing, now_ms)) {
		if (!is_being_written(sealing))
			*at_ms = sealing->last_ms + sealing->quiet_ms;
		return sealing->told = SEALING_BUSY;
	}
	if (sealing->torn)
		path_set_change_all(&sealing->paths, DIRTY, 0, TORN);
	return sealing->told = sealing->torn ? SEALING_TORN : SEALING_SEALED;
}

void sealing_acknowledge(struct sealing *sealing)
{
	if (sealing->told != SEALING_SEALED && sealing->told != SEALING_TORN)
		return;
	end_burst(sealing);
	sealing->told = SEALING_NOTHING;
}

uint64_t sealing_generation(const struct sealing *sealing)
{
	return sealing->generation;
}

bool sealing_is_torn(const struct sealing *sealing, const char *path)
{
	char *prefix = text_copy(path);
	bool torn = path_set_marks(&sealing->paths, prefix) & TORN;

	for (char *slash = strrchr(prefix, '/'); slash && !torn; slash = strrchr(prefix, '/')) {
		*slash = '\0';
		torn = path_set_marks(&sealing->paths, prefix) & TORN;
	}
	free(prefix);
	return torn;
}

void sealing_each_torn(const struct sealing *sealing, path_set_fn *act, void *argument)
{
	path_set_each(&sealing->paths, TORN, act, argument);
}

void sealing_each_open(const struct sealing *sealing, path_set_fn *act, void *argument)
{
	for (size_t i = 0; i < sealing->writers.open_count; i++)
		act(argument, sealing->writers.opens[i].path);
	path_set_each(&sealing->paths, WRITTEN, act, argument);
}

void sealing_requested(struct sealing *sealing, int64_t now_ms)
{
	sealing->request_ms = now_ms;
	sealing->first_open_ms = SEALING_NEVER;
}

int64_t sealing_first_open_ms(const struct sealing *sealing)
{
	return sealing->first_open_ms;
}

void sealing_verify(struct sealing *sealing, sealing_held_fn *held, void *argument, int64_t now_ms)
{
	struct writers *writers = &sealing->writers;

	sealing->settled = is_over(sealing, now_ms);
	sealing->in_doubt = false;
	for (size_t i = 0; i < writers->open_count;) {
		struct writer_open *open = &writers->opens[i];

		switch (held(argument, open->pid, open->descriptor, open->path)) {
		case SHIM_LINK_HELD:
			i++;
			break;
		case SHIM_LINK_RELEASED:
			writers_close(writers, open);
			write_seen(sealing, now_ms);
			break;
		case SHIM_LINK_GONE:
			/* Closes this one at least. */
			sealing_process_ended(sealing, open->pid, SEALING_GONE, now_ms);
			break;
		}
	}
}

bool sealing_in_doubt(const struct sealing *sealing)
{
	return sealing->in_doubt && sealing->writers.open_count > 0;
}
