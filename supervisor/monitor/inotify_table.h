/*
 * The kernel's watches on a directory and those below it, by the path that each stands for: the
 * numbers that the kernel's events carry, and what becomes of them when directories are renamed or
 * go away. Paths are relative to the directory, "" for itself. What the events mean:
 * inotify_watch.h. One at a time in a process.
 */
#ifndef INOTIFY_TABLE_H
#define INOTIFY_TABLE_H

#include "base/err.h"

struct inotify_table {
	/* NULL: not open */
	char *directory;
	/* the inotify instance, to read its events from: does not block, and closes in the job */
	int fd;
	/* number of a watch so far */
	int highest;
};

/* `directory` is canonical. ERR_EXISTS: there is one already; ERR_FAILED, ...: the sentence names
 * the kernel's limit where one was hit. After -1 there is nothing to close. */
int inotify_table_open(struct inotify_table *table, const char *directory, struct err *err);
/* Closes the descriptor too. Does nothing to one that is zeroed or was not opened. */
void inotify_table_close(struct inotify_table *table);

/* The caller frees. */
char *inotify_table_absolute(const struct inotify_table *table, const char *path);

/* Watches one directory, not those in it: what is created, written, closed, moved or deleted there,
 * and itself. Its number, the same as before for one that is watched already; -1 with errno. */
int inotify_table_add(struct inotify_table *table, const char *path);
/* What the number stands for by now; NULL for one that is gone. The caller frees. */
char *inotify_table_path(const struct inotify_table *table, int wd);

/* The directory and all below it: watches them no more, or has them stand for the new path. */
void inotify_table_forget_below(struct inotify_table *table, const char *path);
void inotify_table_rename_below(struct inotify_table *table, const char *from, const char *to);
/* The kernel has removed the watch (IN_IGNORED). */
void inotify_table_removed(int wd);

#endif
