/*
 * Reads one directory or a whole tree by file descriptors: a name is opened in the directory that
 * it was read from, so that no rename above it and no planted link leads elsewhere. Blocks.
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
 * A loop without walk_enter() lists one directory. Entries that vanish during the walk are left out
 * and are no error. Each level that was entered holds a descriptor open.
 */
#ifndef BASE_WALK_H
#define BASE_WALK_H

#include "base/cleanup.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum walk_flag {
	/* walk_open() fails if the root is a symbolic link */
	WALK_NO_LINK = 1,
	/* walk_enter() follows symbolic links; without it, it refuses them */
	WALK_FOLLOW = 2,
	/* a directory that was entered is returned again, as `leaving`, after its entries */
	WALK_LEAVE = 4,
};

struct walk {
	/* The entry; valid until the next call of walk_next(). */
	/* its name in its directory */
	const char *name;
	/* its path below the root: "a/b" */
	const char *path;
	/* its directory, for fstatat(2) and the like with `name`; borrowed */
	int directory;
	/* 1: it is in the root itself */
	int depth;
	/* see WALK_LEAVE */
	bool leaving;

	/* Private to walk.c. */
	unsigned flags;
	unsigned char type;
	struct walk_level *levels;
	size_t count, capacity;
	char *buffer;
	size_t buffer_size;
	char *root;
	/* the first directory that could not be read to its end, and why */
	char *unread;
	int error;
};

/* -1 and errno, also ENOENT. walk_next() then returns false, so a caller that does not care may
 * ignore the error. The caller closes the walk in either case. */
int walk_open(struct walk *walk, const char *root, unsigned flags);
/* The same for a directory below one that is held open (beneath.h), and follows no link; "": that
 * one itself. */
int walk_open_at(struct walk *walk, int directory, const char *root, unsigned flags);
void walk_close(struct walk *walk);

/* The next entry, in no order; "." and ".." are left out. False at the end. */
bool walk_next(struct walk *walk);

/* By d_type of readdir(3), or by lstat(2) if the file system does not set it. */
bool walk_is_directory(const struct walk *walk);

/* The target of the link, truncated to capacity - 1 bytes and terminated. -1: it is not a link. */
ssize_t walk_read_link(const struct walk *walk, char *target, size_t capacity);

/* The next entries are those of this directory. 0, even if it has vanished; -1 and errno: it cannot
 * be read; ENOTDIR: it is not a directory. */
int walk_enter(struct walk *walk);

/* After the walk. -1: a directory could not be read to its end, and the text names the first one.
 * The walk continues after such a directory. */
int walk_check(const struct walk *walk, struct err *err);
AUTO(struct walk, walk_close);

#endif
