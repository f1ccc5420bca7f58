/*
 * PRIVATE: the directory that is restored into. Directories and empty files come first, links,
 * modes and times last: as long as content is written there is no symbolic link in it that could
 * lead elsewhere.
 */
#ifndef RESTORE_TREE_H
#define RESTORE_TREE_H

#include "base/cancel.h"
#include "storage/format/format.h"

struct tree {
	const struct manifest *manifest;
	int root_fd;
	/* Per entry of the manifest: whose content it gets, itself or (a hard link to what is left
	 * out) another one's. NULL: none. */
	const struct entry **content;
	bool *selected;
};

/*
 * Makes `directory` (ERR_EXISTS if it is not empty), the directories in it and all files at their
 * full size, with room for all but their holes where the file system can: ERR_NO_SPACE comes before
 * anything is fetched.
 */
int restore_tree_create(struct tree *tree, const struct manifest *manifest, const char *directory,
			bool (*include)(void *arg, const char *path), void *arg, struct err *err);
void restore_tree_release(struct tree *tree);

/* For writing into; any thread. */
int restore_tree_open_file(const struct tree *tree, const char *path, struct err *err);

/* Links, attributes, modes, times; all durable. */
int restore_tree_finish(struct tree *tree, unsigned threads, struct cancel *cancel,
			struct err *err);

#endif
