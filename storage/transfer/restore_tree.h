/*
 * The directory that is restored into. Directories and empty files are made first; links, modes and
 * times last. So while content is written, the directory has no symbolic link that could lead
 * elsewhere.
 */
#ifndef RESTORE_TREE_H
#define RESTORE_TREE_H

#include "base/cancel.h"
#include "storage/format/format.h"

struct tree {
	const struct manifest *manifest;
	int root_fd;
	/* One per entry of the manifest: the entry whose content it gets, itself or, for a hard
	 * link to a file that is not selected, that file. NULL: no content. */
	const struct entry **content;
	/* One per entry: it is restored. */
	bool *selected;
	/* One per entry: it is a file of the seed. */
	bool *linked;
};

/*
 * Makes `directory`, a name in the directory `within` that is held open, or, if that is 0, a path;
 * and the directories in it. Everything below goes by descriptor (base/beneath.h). `include` (may
 * be NULL: all) selects files. ERR_EXISTS: `directory` is not empty.
 */
int restore_tree_create(struct tree *tree, const struct manifest *manifest, int within,
			const char *directory, bool (*include)(void *arg, const char *path),
			void *arg, struct err *err);
/* Then, where wanted: makes the file of entry `i` a second name of the file of that path in
 * `seed_fd`. False: that cannot be done, and nothing is there. From any thread. */
bool restore_tree_link(struct tree *tree, size_t i, int seed_fd);
/* Then: makes all other files at their full size, on `threads` threads. */
int restore_tree_make_files(struct tree *tree, unsigned threads, struct cancel *cancel,
			    struct err *err);
/* Then, beside those who write: allocates space for all but the holes if the file system can, so
 * that ERR_NO_SPACE comes at the start. Some file systems fill what they allocate (a tmpfs takes as
 * long as for writing it), so that nobody waits for this. */
int restore_tree_allocate(struct tree *tree, struct cancel *cancel, struct err *err);
void restore_tree_release(struct tree *tree);

/* Opens a file for writing; from any thread. The caller closes it. */
int restore_tree_open_file(const struct tree *tree, const char *path, struct err *err);

/* Makes the links, sets attributes, modes and times on `threads` threads, and, with `sync`, waits
 * until the disk has everything. */
int restore_tree_finish(struct tree *tree, unsigned threads, bool sync, struct cancel *cancel,
			struct err *err);

#endif
