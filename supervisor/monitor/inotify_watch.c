#include "monitor.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/walk.h"
#include "inotify_table.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

/* The first event is read at once, later ones after this time: meanwhile the kernel merges the
 * equal events of a large write. */
#define GATHER_MS 20
/* How often to look for a directory that is not there. */
#define RETURN_MS 100
#define DEEPEST 64

struct inotify_watch {
	struct loop *loop;
	struct inotify_table table;
	struct source source;
	struct timer gather;
	struct timer look;
	dir_event_fn *changed;
	void *argument;
	/* watch descriptor of the directory; -1 while it is not there */
	int root;
	/* it was there before: what was told of it is void */
	bool gone;
	bool complete;
	/* what was renamed away and may reappear under another name, with this cookie; NULL: none
	 */
	char *moved;
	uint32_t cookie;
	bool moved_directory;
	int64_t moved_ms;
};

static void emit_event(struct inotify_watch *watch, enum dir_change change, bool directory,
		       const char *from, const char *path)
{
	watch->changed(watch->argument,
		       &(struct dir_event){
			       .change = change,
			       .directory = directory,
			       .from = from,
			       .path = path,
		       });
}

/* False: it cannot be watched. */
static bool watch_directory(struct inotify_watch *watch, const char *path, int depth)
{
	int wd = depth > DEEPEST ? -1 : inotify_table_add(&watch->table, path);

	if (wd >= 0 && depth == 0)
		watch->root = wd;
	if (wd >= 0)
		return true;
	/* Gone again is no loss; nor is one that the job, as the same user, cannot enter either
	 * (lost+found). */
	if (depth <= DEEPEST &&
	    (errno == ENOENT || errno == ENOTDIR || (errno == EACCES && depth > 0)))
		return false;
	/* The directory itself is tried again and again. */
	if (depth > 0 || watch->complete)
		emit_event(watch, DIR_RESCAN, false, NULL, "");
	watch->complete = false;
	return false;
}

static int open_walk(struct inotify_watch *watch, const char *path, struct walk *walk)
{
	auto_close int directory = inotify_table_open_directory(&watch->table, path);

	return directory < 0 ? -1 : walk_open_at(walk, directory, "", 0);
}

/* Watches each directory before it lists it: in this order no entry is missed. What is in a
 * directory that was watched already is known; all that is in another one is news, also where that
 * was renamed before it could be watched, or made while the kernel's queue ran over. `told`: the
 * directory itself is no news. */
static void scan_directory(struct inotify_watch *watch, const char *path, int depth, bool told)
{
	auto_(walk_close) struct walk walk = {0};
	/* Numbers of watches rise. */
	int known = watch->table.highest;
	bool anew;

	if (!watch_directory(watch, path, depth))
		return;
	anew = watch->table.highest > known;
	if (anew && !told)
		emit_event(watch, DIR_DIRECTORY_CREATED, true, NULL, path);
	(void)open_walk(watch, path, &walk);
	while (walk_next(&walk)) {
		auto_free char *child =
			*path ? text_format("%s/%s", path, walk.name) : text_copy(walk.name);

		if (walk_is_directory(&walk))
			scan_directory(watch, child, depth + 1, false);
		else if (anew)
			emit_event(watch, DIR_CREATED, false, NULL, child);
	}
}

/* It has not reappeared below ours: it has left, and a directory is not watched any more. */
static void give_up_moved(struct inotify_watch *watch)
{
	auto_free char *path = steal(&watch->moved);

	if (!path)
		return;
	if (watch->moved_directory)
		inotify_table_move_below(&watch->table, path, NULL);
	emit_event(watch, DIR_DELETED, watch->moved_directory, NULL, path);
}

static void moved_from(struct inotify_watch *watch, const char *path, bool directory,
		       uint32_t cookie)
{
	give_up_moved(watch);
	watch->moved = text_copy(path);
	watch->moved_directory = directory;
	watch->moved_ms = clock_monotonic_ms();
	watch->cookie = cookie;
}

static void moved_to(struct inotify_watch *watch, const char *path, bool directory, uint32_t cookie)
{
	auto_free char *from = watch->cookie == cookie ? steal(&watch->moved) : NULL;

	if (from && directory)
		inotify_table_move_below(&watch->table, from, path);
	emit_event(watch, DIR_MOVED_TO, directory, from, path);
	if (directory)
		scan_directory(watch, path, 1, true);
}

static void entry_event(struct inotify_watch *watch, const struct inotify_event *event,
			const char *path)
{
	bool directory = event->mask & IN_ISDIR;
	/* the other half of a rename */
	bool rest = (event->mask & IN_MOVED_TO) && event->cookie == watch->cookie;

	/* Something else has its name already. */
	if ((event->mask & (IN_CREATE | IN_MOVED_TO)) && !rest && text_equal(path, watch->moved))
		give_up_moved(watch);
	if ((event->mask & IN_CREATE) && directory)
		scan_directory(watch, path, 1, false);
	else if (event->mask & IN_CREATE)
		emit_event(watch, DIR_CREATED, false, NULL, path);
	if (event->mask & IN_MODIFY)
		emit_event(watch, DIR_MODIFIED, false, NULL, path);
	if (event->mask & IN_CLOSE_WRITE)
		emit_event(watch, DIR_CLOSED_WRITE, false, NULL, path);
	if (event->mask & IN_MOVED_FROM)
		moved_from(watch, path, directory, event->cookie);
	if (event->mask & IN_MOVED_TO)
		moved_to(watch, path, directory, event->cookie);
	if (event->mask & IN_DELETE)
		emit_event(watch, DIR_DELETED, directory, NULL, path);
}

/* The checkpoint directory itself was removed or renamed. A new one may appear, empty or with
 * files. */
static void root_gone(struct inotify_watch *watch)
{
	give_up_moved(watch);
	inotify_table_move_below(&watch->table, "", NULL);
	watch->root = -1;
	watch->gone = true;
	emit_event(watch, DIR_RESCAN, false, NULL, "");
	loop_arm(watch->loop, &watch->look, clock_monotonic_ms());
}

static void look_for_root(struct inotify_watch *watch)
{
	scan_directory(watch, "", 0, true);
	if (watch->root < 0)
		return;
	loop_disarm(watch->loop, &watch->look);
	if (watch->gone)
		emit_event(watch, DIR_RESCAN, false, NULL, "");
}

static void root_timer_fired(struct timer *timer)
{
	struct inotify_watch *watch = container_of(timer, struct inotify_watch, look);

	loop_arm(watch->loop, &watch->look, clock_monotonic_ms() + RETURN_MS);
	look_for_root(watch);
}

static void dispatch_event(struct inotify_watch *watch, const struct inotify_event *event)
{
	auto_free char *directory = inotify_table_path(event->wd);
	auto_free char *path = NULL;

	if (event->mask & IN_Q_OVERFLOW) {
		emit_event(watch, DIR_RESCAN, false, NULL, "");
		/* The lost events may be those of new directories. */
		if (watch->root >= 0)
			scan_directory(watch, "", 0, true);
		return;
	}
	if (!directory)
		return;
	if (event->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT)) {
		if (event->wd == watch->root)
			root_gone(watch);
		else if (event->mask & IN_IGNORED)
			inotify_table_removed(event->wd);
		return;
	}
	if (event->len == 0)
		return;
	path = *directory ? text_format("%s/%s", directory, event->name) : text_copy(event->name);
	entry_event(watch, event, path);
}

void inotify_watch_drain(struct inotify_watch *watch)
{
	_Alignas(struct inotify_event) char buffer[16384];
	ssize_t got;

	while ((got = read(watch->source.fd, buffer, sizeof(buffer))) > 0) {
		for (char *at = buffer; at < buffer + got;) {
			const struct inotify_event *event = (const struct inotify_event *)at;
			dispatch_event(watch, event);
			at += sizeof(*event) + event->len;
		}
	}
	/* One that cannot be watched has been told, and is looked for at the timer's pace. */
	if (watch->root < 0 && watch->complete)
		look_for_root(watch);
	/* The kernel queues the two halves of a rename one after the other: the second may be read
	 * the next time. */
	if (watch->moved && clock_monotonic_ms() - watch->moved_ms >= GATHER_MS)
		give_up_moved(watch);
	if (watch->moved)
		loop_arm(watch->loop, &watch->gather, watch->moved_ms + GATHER_MS);
}

static void gather_timer_fired(struct timer *timer)
{
	struct inotify_watch *watch = container_of(timer, struct inotify_watch, gather);

	inotify_watch_drain(watch);
	loop_change(watch->loop, &watch->source, EPOLLIN, NULL);
}

static void became_readable(struct source *source, uint32_t events)
{
	struct inotify_watch *watch = container_of(source, struct inotify_watch, source);

	(void)events;
	inotify_watch_drain(watch);
	loop_change(watch->loop, source, 0, NULL);
	loop_arm(watch->loop, &watch->gather, clock_monotonic_ms() + GATHER_MS);
}

static void ignore_event(void *argument, const struct dir_event *event)
{
	(void)argument;
	(void)event;
}

int inotify_watch_open(struct loop *loop, const char *directory, dir_event_fn *changed,
		       void *argument, struct inotify_watch **watch, struct err *err)
{
	auto_(inotify_watch_close) struct inotify_watch *made = NULL;
	bool missing;

	made = memory_new(sizeof(*made));
	*made = (struct inotify_watch){
		.loop = loop,
		.source.fd = -1,
		.source.ready = became_readable,
		.gather.fired = gather_timer_fired,
		.look.fired = root_timer_fired,
		.changed = ignore_event,
		.root = -1,
		.complete = true,
	};
	if (inotify_table_open(&made->table, directory, err) < 0)
		return -1;
	made->source.fd = made->table.fd;
	errno = 0;
	scan_directory(made, "", 0, true);
	missing = made->root < 0 && (errno == ENOENT || errno == ENOTDIR);
	if (made->root < 0 && !missing && errno != ENOSPC)
		return err_os(err, errno ? errno : ENOENT, "watch %s", directory);
	if (!made->complete)
		return err_set(err, ERR_NO_SPACE,
			       "watch %s: too many directories (limit: "
			       "fs.inotify.max_user_watches)",
			       directory);
	if (loop_add(loop, &made->source, EPOLLIN, err) < 0)
		return -1;
	made->changed = changed;
	made->argument = argument;
	*watch = steal(&made);
	if (missing)
		root_timer_fired(&(*watch)->look);
	return 0;
}

void inotify_watch_close(struct inotify_watch *watch)
{
	loop_remove(watch->loop, &watch->source);
	loop_disarm(watch->loop, &watch->gather);
	loop_disarm(watch->loop, &watch->look);
	inotify_table_close(&watch->table);
	free(watch->moved);
	free(watch);
}

bool inotify_watch_is_complete(const struct inotify_watch *watch)
{
	return watch->complete;
}
