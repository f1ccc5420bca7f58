/*
 * Reads directories, one or a whole tree, by file descriptors: a name is opened in the directory
 *that it was read from, so that renames above it and links planted in it lead nowhere else. Blocks.
 *
 *	auto_(walk_close) struct walk walk;
 *
 *	if (walk_open(&walk, directory, 0) < 0)
 *		return err_os(err, errno, "%s", directory);
 *	while (walk_next(&walk))
 *		if (walk_is_directory(&walk) && walk_enter(&walk) < 0)
 *			return err_os(err, errno, "%s/%s", directory, walk.path);
 *	return walk_check(&walk, err);
 *
 * Only what is entered is walked, so a loop without walk_enter() lists one directory. What vanishes
 * meanwhile is left out and is no error. Each level that is entered holds a descriptor open.
 */
#ifndef BASE_WALK_H
#define BASE_WALK_H

#include "base/cleanup.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum walk_flag {
	/* walk_open() fails where the root is a symbolic link. */
	WALK_NO_LINK = 1,
	/* walk_enter() follows symbolic links, which it refuses otherwise. */
	WALK_FOLLOW = 2,
	/* A directory that was entered is given once more, as `leaving`, after all that is in it.
	 */
	WALK_LEAVE = 4,
};

struct walk {
	/* The entry, until the next call of walk_next(). */
	/* Its name in its directory. */
	const char *name;
	/* The same from the root on: "a/b". */
	const char *path;
	/* The directory that it lies in, for fstatat() and the like with `name`. Borrowed. */
	int directory;
	/* 1 for what lies in the root itself. */
	int depth;
	/* See WALK_LEAVE. */
	bool leaving;

	/* The rest is walk.c's. */
	unsigned flags;
	unsigned char type;
	struct walk_level *levels;
	size_t count, capacity;
	char *buffer;
	size_t buffer_size;
	char *root;
	/* The first directory that could not be read to its end, and why. */
	char *unread;
	int error;
};

/* -1 and errno, also ENOENT: then walk_next() finds nothing, so who does not mind need not look.
 * The caller closes the walk in either case. */
int walk_open(struct walk *walk, const char *root, unsigned flags);
void walk_close(struct walk *walk);

/* The next entry, in no order; "." and ".." are left out. False at the end. */
bool walk_next(struct walk *walk);

/* By what the directory says of the entry, or by lstat() where it does not say. */
bool walk_is_directory(const struct walk *walk);

/* Where the entry leads, cut to capacity - 1 bytes and ended by NUL. -1 where it is no link. */
ssize_t walk_read_link(const struct walk *walk, char *target, size_t capacity);

/* What lies in the entry comes next. 0 too where it has vanished; -1 and errno where it cannot be
 * read, ENOTDIR where it is no directory. */
int walk_enter(struct walk *walk);

/* -1 where a directory could not be read to its end; the sentence names the first one. The walk
 * goes on behind such a one. */
int walk_check(const struct walk *walk, struct err *err);
AUTO(struct walk, walk_close);

#endif
