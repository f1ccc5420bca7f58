/*
 * The only file that calls libinotifytools, which makes the inotify instance and keeps the table of
 * watches. This file and inotify_watch.c do the rest, because libinotifytools 3.22.6 does not do
 * it, or does it in a way that a supervisor cannot use:
 *
 * - Its descriptor has no CLOEXEC and would leak into the job. It is not returned either, so that
 *   no epoll can wait for it. We find it in /proc/self/fd as the one that inotifytools_initialize()
 *   added, and read the events ourselves.
 * - inotifytools_watch_recursively() lists a directory before it watches it, so that files made in
 *   between are missed. inotify_watch.c watches first. New subdirectories are not watched at all.
 * - Renamed directories keep their old name. inotifytools_replace_filename() changes a tree while
 *   it walks it, so we rename the entries one by one. That leaves its index by name out of order,
 *   and we call no function that uses the index.
 * - Entries of watches that the kernel removed cannot be removed (inotify_rm_watch fails and the
 *   entry stays). They are given the empty name and stay until inotify_table_close(): some 150
 *   bytes for each directory that was deleted.
 * - The directory that ours is in is watched without it: inotify_watch.c needs no name for that.
 * - A queue overflow is one event without a path, and nothing is scanned again. inotify_watch.c
 *   watches new directories and reports RESCAN.
 * - All its state is global: one table in a process.
 */
#include "inotify_table.h"

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/held_directory.h"
#include "base/text.h"
#include "process/process.h"
#include "workspace/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <inotifytools/inotifytools.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define EVENTS                                                                              \
	(IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE | \
	 IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)

static bool in_use;

/* Which of the descriptors below `most` are inotify instances, one byte each. */
static void list_instances(char *marks, int most)
{
	auto_(walk_close) struct walk walk = {0};

	(void)proc_walk_descriptors(PROC_SELF, &walk);
	while (walk_next(&walk)) {
		char target[64];
		uint64_t fd;

		if (text_to_u64(walk.name, (uint64_t)most - 1, &fd) &&
		    walk_read_link(&walk, target, sizeof(target)) > 0)
			marks[fd] = strstr(target, "inotify") != NULL;
	}
}

static int open_instance(struct inotify_table *table, struct err *err)
{
	char before[4096] = {0};
	char after[4096] = {0};

	list_instances(before, sizeof(before));
	if (!inotifytools_initialize())
		return err_os(err, errno, "inotify (limit: fs.inotify.max_user_instances)");
	in_use = true;
	list_instances(after, sizeof(after));
	for (int fd = 0; fd < (int)sizeof(after) && table->fd < 0; fd++) {
		if (after[fd] && !before[fd])
			table->fd = fd;
	}
	if (table->fd < 0)
		return err_set(err, ERR_FAILED, "inotify: its descriptor is not in /proc/self/fd");
	if (fcntl(table->fd, F_SETFD, FD_CLOEXEC) < 0 || fcntl(table->fd, F_SETFL, O_NONBLOCK) < 0)
		return err_os(err, errno, "inotify");
	return 0;
}

int inotify_table_open(struct inotify_table *table, const char *directory, struct err *err)
{
	if (in_use)
		return err_set(err, ERR_EXISTS, "a directory is being watched already");
	*table = (struct inotify_table){.directory = text_copy(directory), .fd = -1};
	if (open_instance(table, err) < 0) {
		inotify_table_close(table);
		return -1;
	}
	return 0;
}

void inotify_table_close(struct inotify_table *table)
{
	if (!table->directory)
		return;
	if (in_use)
		inotifytools_cleanup();
	in_use = false;
	free(table->directory);
	*table = (struct inotify_table){.fd = -1};
}

/* The library keeps the relative path with a slash in front: "" is that of a forgotten watch. */
static void set_path(int wd, const char *path, const char *rest)
{
	auto_free char *name = text_format("/%s%s", path, rest);

	inotifytools_set_filename_by_wd(wd, name);
}

char *inotify_table_path(int wd)
{
	const char *name = wd < 0 ? NULL : inotifytools_filename_from_wd(wd);

	return name && *name ? text_copy(name + 1) : NULL;
}

int inotify_table_open_directory(const struct inotify_table *table, const char *path)
{
	struct err err;
	auto_close int root = held_directory_open(table->directory, &err);

	if (root < 0) {
		errno = err.os ? err.os : EACCES;
		return -1;
	}
	return *path ? beneath_open_directory(root, path) : steal_fd(&root);
}

/*
 * The library would enter a known watch a second time, hence the look-up by number first. The
 * kernel never reuses a number, so that an empty name is not that of a forgotten watch.
 */
int inotify_table_add(struct inotify_table *table, const char *path)
{
	auto_close int fd = inotify_table_open_directory(table, path);
	char held[32];
	const char *name;
	int wd;

	if (fd < 0)
		return -1;
	/* By its descriptor, because the name may lead elsewhere by now. */
	snprintf(held, sizeof(held), "/proc/self/fd/%d", fd);
	wd = inotify_add_watch(table->fd, held, EVENTS);
	if (wd < 0)
		return -1;
	if (wd > table->highest)
		table->highest = wd;
	name = inotifytools_filename_from_wd(wd);
	if ((!name || !*name) && !inotifytools_watch_file(held, EVENTS))
		return -1;
	set_path(wd, path, "");
	return wd;
}

void inotify_table_move_below(struct inotify_table *table, const char *from, const char *to)
{
	size_t length = strlen(from);

	for (int wd = 1; wd <= table->highest; wd++) {
		auto_free char *name = inotify_table_path(wd);

		if (!name || !path_set_is_below(name, from))
			continue;
		if (to) {
			set_path(wd, to, name + length);
		} else {
			/* Fails if the kernel has removed the watch already. */
			inotify_rm_watch(table->fd, wd);
			inotify_table_removed(wd);
		}
	}
}

void inotify_table_removed(int wd)
{
	inotifytools_set_filename_by_wd(wd, "");
}
