/*
 * What lies in a directory at one time, so that two looks tell what was written between them, and a
 * copy can be made (machine_directory.h). The entries near the root come first, and there are at
 * most TREE_LOOK_MOST: a directory whose entries no longer fit is one entry, of which it is seen
 * only that it has new or fewer of its own. What was read in vain is bounded as well: when that is
 * as much again, no further directory is opened (but those of `within`). Not looked into: .git,
 * __pycache__, node_modules and virtual environments, which hold programs and no state, and in "/"
 * the directories of the system.
 *
 * A link whose target lies in the root is a link. One that leads out is followed; a directory that
 * was come upon before, or that holds the root, is not entered again. Blocks.
 */
#ifndef TREE_LOOK_H
#define TREE_LOOK_H

#include "base/cleanup.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TREE_LOOK_MOST 20000

enum tree_kind {
	TREE_FILE,
	TREE_DIRECTORY,
	TREE_CLOSED, /* a directory that was not looked into */
	TREE_LINK, /* to what is in the root as well, and is seen there; or it cannot be followed */
	TREE_OTHER,
};

struct tree_entry {
	char *path; /* relative to the root */
	/* NULL: it is no link, or a TREE_LINK that leads out of the root. Of another TREE_LINK:
	 * what a copy of it says, so that it leads to the same place in a copy of the root. Of what
	 * a link leads to: where that is, absolute, without links. */
	char *target;
	enum tree_kind kind;
	bool program; /* TREE_CLOSED for what it is, and not for its size */
	bool system;  /* TREE_CLOSED, and the system's or the kernel's: not the user's own */
	dev_t device;
	ino_t inode;
	uint64_t size;    /* TREE_FILE */
	int64_t ctime_ns; /* TREE_FILE, and TREE_CLOSED for its size: changes with each write */
};

struct tree_look {
	struct tree_entry *items; /* a directory comes before what is in it */
	size_t count, capacity;
	size_t dropped; /* names that were read and did not fit */
};

/*
 * `without`: the paths of the directories that are no part of it (the drill's own), absolute.
 * `within`: paths relative to the root; the directories that they lie in are looked into, whatever
 * their size. Both end with NULL.
 */
int tree_look_take(struct tree_look *look, const char *root, const char *const *without,
		   const char *const *within, struct err *err);
void tree_look_release(struct tree_look *look);
AUTO(struct tree_look, tree_look_release);

/* PURE. What differs: files that are new or were written, and those that are gone. A directory that
 * is new counts by its files. The caller frees the array; the entries are borrowed from either
 * look. Returns how many there are. */
size_t tree_look_compare(const struct tree_look *before, const struct tree_look *after,
			 const struct tree_entry ***changed);

/* PURE, by the text alone; the caller frees. What a relative target of a link at `path` names below
 * the root ("": the root); NULL: it leads out of it. */
char *tree_link_path(const char *path, const char *target);
/* The target for a link at `path`, so that it names `named`. */
char *tree_link_target(const char *path, const char *named);

#endif
