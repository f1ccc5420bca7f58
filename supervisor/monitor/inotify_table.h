/* PRIVATE to monitor/: watch descriptors and their paths; its .c is the only user of
 * libinotifytools. */
#ifndef INOTIFY_TABLE_H
#define INOTIFY_TABLE_H

#include "base/err.h"

#include <stdint.h>

/*
 * The table of inotify watches on a directory and its subdirectories: watch descriptor to path, and
 * how that changes when directories are renamed or deleted. Paths are relative to the directory, ""
 * is the directory itself. inotify_watch.c interprets the events. One table at a time in a process.
 */

struct inotify_table {
	/* NULL: not open */
	char *directory;
	/* the inotify instance, to read events from: O_NONBLOCK and O_CLOEXEC */
	int fd;
	/* highest watch descriptor so far */
	int highest;
};

/* `directory` is canonical. ERR_EXISTS: a table is open already. ERR_FAILED and others: the
 * sentence names the kernel limit if one was hit. After -1 there is nothing to close. */
int inotify_table_open(struct inotify_table *table, const char *directory, struct err *err);
/* Closes the descriptor too. Does nothing to a table that is zeroed or was not opened. */
void inotify_table_close(struct inotify_table *table);

/* The directory of that relative path, past no link below the root; the caller closes it soon:
 * while it is open, the kernel does not tell that it was removed. -1 and errno. */
int inotify_table_open_directory(const struct inotify_table *table, const char *path);

/* Watches one directory without its subdirectories, for files created, written, closed, moved or
 * deleted in it, and for its own removal. Returns the watch descriptor, the same as before if it is
 * watched already; -1 with errno. */
int inotify_table_add(struct inotify_table *table, const char *path);

/* Current path of a watch descriptor, which the caller frees; NULL: it was removed. */
char *inotify_table_path(int wd);

/* The directory and everything below it: gives their watches the new path; NULL: removes them. */
void inotify_table_move_below(struct inotify_table *table, const char *from, const char *to);
/* The kernel has removed the watch (IN_IGNORED). */
void inotify_table_removed(int wd);

#endif
