/*
 * The one door to libinotifytools. It makes the inotify instance and keeps the table of watches by path. The rest is done here,
 * because of what libinotifytools 3.22.6 does not do, or does in a way that a supervisor cannot use:
 *
 * - Its descriptor has no CLOEXEC and would leak into the job; it is not handed out either, so that no epoll can wait for it. We
 *   find it in /proc/self/fd as the one that inotifytools_initialize() added, and read the events ourselves.
 * - inotifytools_watch_recursively() lists a directory before it watches it, and what is made in between is lost. We watch first.
 *   New subdirectories are not watched at all.
 * - Renamed directories keep their old name. inotifytools_replace_filename() changes a tree while it walks it, so the
 *   entries are renamed one by one; the index by name is out of order then, and no function that uses it is called.
 * - Entries of watches that the kernel removed cannot be removed (inotify_rm_watch fails and the entry stays). They are given
 *   the empty name and stay until dir_watch_close(): some 150 bytes for each directory that was deleted.
 * - A queue that ran over is one event without a path, and nothing is looked for again. We watch what has come, and say RESCAN.
 * - All its state is global: one dir_watch in a process.
 */
#include "dir_watch.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inotifytools/inotifytools.h>
#include <limits.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#define EVENTS                                                                              \
	(IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE | \
		IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)

/* The first event is read at once, those behind it this long after: the kernel merges the equal ones of a large write meanwhile. */
#define GATHER_MS 20
/* How often a directory that was removed is looked for. */
#define RETURN_MS 250
#define DEEPEST 64

struct dir_watch {
	struct loop *loop;
	struct source source;
	struct timer gather;
	struct timer look;
	dir_watch_fn *changed;
	void *argument;
	char *directory;
	int root;    /* watch descriptor of `directory`; -1 while it is gone */
	int highest; /* watch descriptor so far: the table has no iterator */
	bool complete;
	uint32_t
		cookie; /* of a directory that was renamed away and may turn up again; 0 for none */
	char *moved;    /* its path */
};

static bool in_use;

static void emit(struct dir_watch *watch, enum dir_change change, bool directory, uint32_t cookie,
	const char *path)
{
	watch->changed(watch->argument,
		&(struct dir_event){
			.change = change, .directory = directory, .cookie = cookie, .path = path});
}

static char *below(const struct dir_watch *watch, const char *path)
{
	return *path ? text_format("%s/%s", watch->directory, path) : text_copy(watch->directory);
}

/* The path that a watch stands for, relative; NULL for one that is gone. The caller frees. */
static char *path_of(const struct dir_watch *watch, int wd)
{
	const char *name = wd < 0 ? NULL : inotifytools_filename_from_wd(wd);
	size_t prefix = strlen(watch->directory);
	size_t length;

	if (!name)
		return NULL;
	length = strlen(name);
	while (length > prefix && name[length - 1] == '/')
		length--;
	if (length < prefix || strncmp(name, watch->directory, prefix) != 0)
		return NULL;
	return length == prefix ? text_copy("")
				: text_copy_n(name + prefix + 1, length - prefix - 1);
}

/* -1 with errno. The library would enter a watch that it has a second time, hence the look by number first; the kernel gives
 * no number out twice, so that an empty name here is not a watch that was forgotten. */
static int add(struct dir_watch *watch, const char *full)
{
	int wd = inotify_add_watch(watch->source.fd, full, EVENTS);
	const char *name;

	if (wd < 0)
		return -1;
	if (wd > watch->highest)
		watch->highest = wd;
	name = inotifytools_filename_from_wd(wd);
	if (name && *name)
		inotifytools_set_filename_by_wd(wd, full);
	else if (!inotifytools_watch_file(full, EVENTS))
		return -1;
	return wd;
}

static void scan(struct dir_watch *watch, const char *path, bool silent, int depth);

static void found(struct dir_watch *watch, const char *path, const struct dirent *entry,
	bool silent, int depth)
{
	auto_free char *child =
		*path ? text_format("%s/%s", path, entry->d_name) : text_copy(entry->d_name);
	auto_free char *full = below(watch, child);
	bool directory = entry->d_type == DT_DIR;

	if (entry->d_type == DT_UNKNOWN) {
		struct stat status;
		directory = lstat(full, &status) == 0 && S_ISDIR(status.st_mode);
	}
	if (!silent)
		emit(watch, directory ? DIR_DIRECTORY_CREATED : DIR_CREATED, directory, 0, child);
	if (directory)
		scan(watch, child, silent, depth + 1);
}

/* Watches the directory, then looks at what is in it: in this order nothing is missed, though some may be seen twice. */
static void scan(struct dir_watch *watch, const char *path, bool silent, int depth)
{
	auto_free char *full = below(watch, path);
	auto_closedir DIR *listing = NULL;
	int wd = depth > DEEPEST ? -1 : add(watch, full);

	if (wd < 0) {
		/* Gone again is no loss; nor is one that the job, as the same user, cannot enter either (lost+found). */
		if (depth <= DEEPEST &&
			(errno == ENOENT || errno == ENOTDIR || (errno == EACCES && depth > 0)))
			return;
		watch->complete = false;
		emit(watch, DIR_RESCAN, false, 0, "");
		return;
	}
	if (depth == 0)
		watch->root = wd;
	listing = opendir(full);
	for (struct dirent *entry; listing && (entry = readdir(listing));) {
		if (!text_equal(entry->d_name, ".") && !text_equal(entry->d_name, ".."))
			found(watch, path, entry, silent, depth);
	}
}

/* Calls for each watch at `path` and below. */
static void each_below(struct dir_watch *watch, const char *path,
	void (*act)(struct dir_watch *watch, int wd, const char *rest, const char *argument),
	const char *argument)
{
	size_t length = strlen(path);

	for (int wd = 1; wd <= watch->highest; wd++) {
		auto_free char *name = path_of(watch, wd);

		if (name && strncmp(name, path, length) == 0 &&
			(length == 0 || name[length] == '\0' || name[length] == '/'))
			act(watch, wd, name + length, argument);
	}
}

static void forget(struct dir_watch *watch, int wd, const char *rest, const char *argument)
{
	(void)rest;
	(void)argument;
	/* Fails where the kernel removed it already. */
	inotify_rm_watch(watch->source.fd, wd);
	inotifytools_set_filename_by_wd(wd, "");
}

static void rename_watch(struct dir_watch *watch, int wd, const char *rest, const char *path)
{
	auto_free char *joined = text_format("%s%s", path, rest);
	auto_free char *full = below(watch, joined);

	inotifytools_set_filename_by_wd(wd, full);
}

/* A renamed directory did not turn up below ours: it left, and what happens in it is no business of ours. */
static void let_moved_go(struct dir_watch *watch)
{
	if (watch->moved)
		each_below(watch, watch->moved, forget, NULL);
	free(watch->moved);
	watch->moved = NULL;
	watch->cookie = 0;
}

static void directory_moved_to(struct dir_watch *watch, const char *path, uint32_t cookie)
{
	if (watch->moved && watch->cookie == cookie) {
		each_below(watch, watch->moved, rename_watch, path);
		free(take(&watch->moved));
		emit(watch, DIR_MOVED_TO, true, cookie, path);
		return;
	}
	emit(watch, DIR_MOVED_TO, true, cookie, path);
	scan(watch, path, false, 1);
}

static void directory_event(
	struct dir_watch *watch, const struct inotify_event *event, const char *path)
{
	if (event->mask & IN_CREATE) {
		emit(watch, DIR_DIRECTORY_CREATED, true, 0, path);
		scan(watch, path, false, 1);
	} else if (event->mask & IN_MOVED_FROM) {
		let_moved_go(watch);
		watch->moved = text_copy(path);
		watch->cookie = event->cookie;
		emit(watch, DIR_MOVED_FROM, true, event->cookie, path);
	} else if (event->mask & IN_MOVED_TO) {
		directory_moved_to(watch, path, event->cookie);
	} else if (event->mask & IN_DELETE) {
		emit(watch, DIR_DELETED, true, 0, path);
	}
}

static void file_event(struct dir_watch *watch, const struct inotify_event *event, const char *path)
{
	if (event->mask & IN_CREATE)
		emit(watch, DIR_CREATED, false, 0, path);
	if (event->mask & IN_MODIFY)
		emit(watch, DIR_MODIFIED, false, 0, path);
	if (event->mask & IN_CLOSE_WRITE)
		emit(watch, DIR_CLOSED_WRITE, false, 0, path);
	if (event->mask & IN_MOVED_FROM)
		emit(watch, DIR_MOVED_FROM, false, event->cookie, path);
	if (event->mask & IN_MOVED_TO)
		emit(watch, DIR_MOVED_TO, false, event->cookie, path);
	if (event->mask & IN_DELETE)
		emit(watch, DIR_DELETED, false, 0, path);
}

/* The directory itself was removed or renamed. Whoever makes it anew makes it empty, or moves a whole one there. */
static void root_gone(struct dir_watch *watch)
{
	let_moved_go(watch);
	each_below(watch, "", forget, NULL);
	watch->root = -1;
	emit(watch, DIR_RESCAN, false, 0, "");
	loop_arm(watch->loop, &watch->look, clock_monotonic_ms());
}

static void look_for_root(struct timer *timer)
{
	struct dir_watch *watch = container_of(timer, struct dir_watch, look);

	scan(watch, "", false, 0);
	if (watch->root < 0)
		loop_arm(watch->loop, &watch->look, clock_monotonic_ms() + RETURN_MS);
	else
		emit(watch, DIR_RESCAN, false, 0, "");
}

static void dispatch(struct dir_watch *watch, const struct inotify_event *event)
{
	auto_free char *directory = path_of(watch, event->wd);
	auto_free char *path = NULL;

	if (event->mask & IN_Q_OVERFLOW) {
		emit(watch, DIR_RESCAN, false, 0, "");
		/* Directories may have come unseen. */
		if (watch->root >= 0)
			scan(watch, "", true, 0);
		return;
	}
	if (!directory)
		return;
	if (event->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT)) {
		if (event->wd == watch->root)
			root_gone(watch);
		else if (event->mask & IN_IGNORED)
			inotifytools_set_filename_by_wd(event->wd, "");
		return;
	}
	if (event->len == 0)
		return;
	path = *directory ? text_format("%s/%s", directory, event->name) : text_copy(event->name);
	if (event->mask & IN_ISDIR)
		directory_event(watch, event, path);
	else
		file_event(watch, event, path);
}

void dir_watch_drain(struct dir_watch *watch)
{
	_Alignas(struct inotify_event) char buffer[16384];
	ssize_t got;

	while ((got = read(watch->source.fd, buffer, sizeof(buffer))) > 0) {
		for (char *at = buffer; at < buffer + got;) {
			const struct inotify_event *event = (const struct inotify_event *)at;
			dispatch(watch, event);
			at += sizeof(*event) + event->len;
		}
	}
	let_moved_go(watch);
}

static void gathered(struct timer *timer)
{
	struct dir_watch *watch = container_of(timer, struct dir_watch, gather);

	dir_watch_drain(watch);
	loop_change(watch->loop, &watch->source, EPOLLIN, NULL);
}

static void became_readable(struct source *source, uint32_t events)
{
	struct dir_watch *watch = container_of(source, struct dir_watch, source);

	(void)events;
	dir_watch_drain(watch);
	loop_change(watch->loop, source, 0, NULL);
	loop_arm(watch->loop, &watch->gather, clock_monotonic_ms() + GATHER_MS);
}

static bool is_inotify(int fd)
{
	auto_free char *name = text_format("/proc/self/fd/%d", fd);
	char target[64];
	ssize_t got = readlink(name, target, sizeof(target) - 1);

	target[got > 0 ? got : 0] = '\0';
	return strstr(target, "inotify") != NULL;
}

/* Which of the descriptors below `most` are inotify instances, one byte each. */
static void list_instances(char *marks, int most)
{
	auto_closedir DIR *listing = opendir("/proc/self/fd");

	for (struct dirent *entry; listing && (entry = readdir(listing));) {
		uint64_t fd;

		if (text_to_u64(entry->d_name, (uint64_t)most - 1, &fd))
			marks[fd] = is_inotify((int)fd);
	}
}

static int open_instance(struct dir_watch *watch, struct err *err)
{
	char before[4096] = {0};
	char after[4096] = {0};

	list_instances(before, sizeof(before));
	if (!inotifytools_initialize())
		return err_os(err, errno, "inotify (limit: fs.inotify.max_user_instances)");
	in_use = true;
	list_instances(after, sizeof(after));
	for (int fd = 0; fd < (int)sizeof(after) && watch->source.fd < 0; fd++) {
		if (after[fd] && !before[fd])
			watch->source.fd = fd;
	}
	if (watch->source.fd < 0)
		return err_set(err, ERR_FAILED, "inotify: its descriptor is not in /proc/self/fd");
	if (fcntl(watch->source.fd, F_SETFD, FD_CLOEXEC) < 0 ||
		fcntl(watch->source.fd, F_SETFL, O_NONBLOCK) < 0)
		return err_os(err, errno, "inotify");
	watch->source.ready = became_readable;
	return 0;
}

static void ignore(void *argument, const struct dir_event *event)
{
	(void)argument;
	(void)event;
}

AUTO_POINTER(struct dir_watch, dir_watch_close);

int dir_watch_open(struct loop *loop, const char *directory, dir_watch_fn *changed, void *argument,
	struct dir_watch **watch, struct err *err)
{
	auto_(dir_watch_close) struct dir_watch *made = NULL;

	if (in_use)
		return err_set(err, ERR_EXISTS, "a directory is being watched already");
	made = memory_new(sizeof(*made));
	*made = (struct dir_watch){.loop = loop,
		.source.fd = -1,
		.gather.fired = gathered,
		.look.fired = look_for_root,
		.changed = ignore,
		.root = -1,
		.complete = true,
		.directory = text_copy(directory)};
	if (open_instance(made, err) < 0)
		return -1;
	errno = 0;
	scan(made, "", true, 0);
	if (made->root < 0 && errno != ENOSPC)
		return err_os(err, errno ? errno : ENOENT, "watch %s", directory);
	if (made->root < 0 || !made->complete)
		return err_set(err, ERR_NO_SPACE,
			"watch %s: too many directories (limit: fs.inotify.max_user_watches)",
			directory);
	if (loop_add(loop, &made->source, EPOLLIN, err) < 0)
		return -1;
	made->changed = changed;
	made->argument = argument;
	*watch = take(&made);
	return 0;
}

void dir_watch_close(struct dir_watch *watch)
{
	loop_remove(watch->loop, &watch->source);
	loop_disarm(watch->loop, &watch->gather);
	loop_disarm(watch->loop, &watch->look);
	/* Closes the descriptor. */
	if (in_use)
		inotifytools_cleanup();
	in_use = false;
	free(watch->moved);
	free(watch->directory);
	free(watch);
}

bool dir_watch_is_complete(const struct dir_watch *watch)
{
	return watch->complete;
}

int dir_watch_descriptor(const struct dir_watch *watch)
{
	return watch->source.fd;
}
