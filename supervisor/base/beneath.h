/*
 * Work below a directory that is held open (held_directory.h). A path here is relative to that
 * directory, and never leads out of it: no link on the way is followed, and none at its end,
 * because each directory on the way is opened with O_NOFOLLOW. (openat2(2) would do it in one call,
 * and is missing under seccomp filters of older container runtimes.) A link in the way gives ELOOP
 * or ENOTDIR, ".." and an absolute path EXDEV. Links themselves are read, made, moved and removed
 * like files.
 *
 * From any thread; all functions block. Those without `struct err` return -1 and errno, like the
 * system calls that they are named after.
 */
#ifndef BASE_BENEATH_H
#define BASE_BENEATH_H

#include "base/text.h"

#include <sys/stat.h>
#include <sys/types.h>

/* open(2) with O_CLOEXEC and O_NOFOLLOW. The caller closes the descriptor. */
int beneath_open(int directory, const char *path, int flags, mode_t mode);
/* A directory, for reading it. "": the held one itself, opened anew. */
int beneath_open_directory(int directory, const char *path);

/* lstat(2) */
int beneath_status(int directory, const char *path, struct stat *status);
bool beneath_exists(int directory, const char *path);
bool beneath_is_directory(int directory, const char *path);
/* It is there, and neither a directory nor a link. */
bool beneath_is_other(int directory, const char *path);
/* True also where nothing is. */
bool beneath_is_empty_directory(int directory, const char *path);
/* Terminates the target; truncates it to capacity - 1 bytes. Returns its length. */
ssize_t beneath_read_link(int directory, const char *path, char *target, size_t capacity);

int beneath_make_directory(int directory, const char *path, mode_t mode);
/* mkdir -p. Directories that exist are fine. */
int beneath_make_directories(int directory, const char *path, mode_t mode, struct err *err);
/* unlinkat(2): `flags` 0 or AT_REMOVEDIR */
int beneath_remove(int directory, const char *path, int flags);
/* rm -rf. What is not there is fine, and so are read-only directories. */
int beneath_remove_tree(int directory, const char *path, struct err *err);
int beneath_rename(int from_directory, const char *from, int to_directory, const char *to);
/* rename(2) for what people protect with chmod -R a-w: read-only directories of ours that it has
 * to write to are made writable for that moment. */
int beneath_rename_anyway(int from_directory, const char *from, int to_directory, const char *to);
/* link(2): a second name for the file itself. */
int beneath_link(int from_directory, const char *from, int to_directory, const char *to);

/* Appends the regular file to `out`, at most out->limit bytes; never blocks on a special file. */
int beneath_read(int directory, const char *path, struct bytes *out, struct err *err);
/* Replaces the file: all or nothing. `durable`: it and its name are on the disk then. */
int beneath_replace(int directory, const char *path, const void *data, size_t size, bool durable,
		    struct err *err);

/*
 * The directory of a path, for the *at() system calls that beneath.h does not have, and for many
 * files of one directory: the last one is kept open. Initialise with BENEATH_PARENT(directory).
 */
struct beneath_parent {
	int directory; /* the held one; borrowed */
	char *path;    /* of the one that is open; NULL: none is */
	int fd;
};
#define BENEATH_PARENT(held)                  \
	{                                     \
		.directory = (held), .fd = -1 \
	}
/* Its descriptor, borrowed until the next call; *name: the rest of the path. -1 and errno. */
int beneath_parent_of(struct beneath_parent *parent, const char *path, const char **name);
void beneath_parent_close(struct beneath_parent *parent);
AUTO(struct beneath_parent, beneath_parent_close);

#endif
