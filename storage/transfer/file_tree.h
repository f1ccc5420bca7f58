/*
 * PRIVATE to storage/. Lists a directory as entries, opens its files, and applies metadata to
 * restored files. The walk is libarchive's: it does not follow symbolic links, and the process
 * never changes its directory.
 */
#ifndef FILE_TREE_H
#define FILE_TREE_H

#include "base/cancel.h"
#include "base/cleanup.h"
#include "chunk_index.h"
#include "storage/format/format.h"

#include <stdbool.h>

struct file_tree_item {
	struct entry entry;      /* without chunks */
	struct file_stamp stamp; /* files: taken when the file was opened */
	uint32_t links;
	int fd;    /* files: open for reading; -1: the process ran out of descriptors */
	bool read; /* files: all chunks are there, and the file did not change meanwhile */
};

struct file_tree {
	char *root; /* absolute, links resolved */
	int root_fd;
	uint32_t root_mode;
	struct file_tree_item *items; /* sorted by path */
	size_t count;
	uint32_t left_out;         /* skipped: sockets, devices, links that lead out */
	char *left_out_path;       /* the first skipped one by name; NULL: none */
	const char *left_out_what; /* what that one is: "a socket" */
};

/*
 * Walks `directory`, then opens and stats every regular file at once, so that names may change
 * afterwards. Waits, a few ms at most, until any later write must change the ctime. `exclude` (may
 * be NULL) returns true for a path to skip. ERR_RETRY: a file was deleted meanwhile. The caller
 * frees with file_tree_release().
 */
int file_tree_open(const char *directory, bool (*exclude)(void *arg, const char *path), void *arg,
		   struct file_tree *tree, struct cancel *cancel, struct err *err);
/* The same for files that are written all the time: it does not wait, so a stamp only describes the
 * moment. */
int file_tree_open_changing(const char *directory, bool (*exclude)(void *arg, const char *path),
			    void *arg, struct file_tree *tree, struct cancel *cancel,
			    struct err *err);
void file_tree_release(struct file_tree *tree);
AUTO(struct file_tree, file_tree_release);

/* Opens a file that file_tree_open() had no descriptor for. ERR_RETRY: another file has its name
 * now. */
int file_tree_open_file(const struct file_tree *tree, struct file_tree_item *item, struct err *err);

/* The stamp of an open file. With `settled`, waits the few ms until a later write must change the
 * stamp. */
int file_tree_stamp(int fd, bool settled, struct file_stamp *stamp, struct cancel *cancel,
		    struct err *err);

/*
 * Whether anybody has the file open or mapped for writing. Then a write may be under way that the
 * stamp will never show, because the kernel sets the times when a write begins. False also if the
 * kernel cannot tell: a file of another user, NFS, FUSE.
 */
bool file_tree_has_writers(int fd);

/* Sets mode, user.* attributes and times of an open file or directory, then syncs it. A failure to
 * set an attribute that the file system does not support is ignored. */
int file_tree_apply_metadata(int fd, const struct entry *entry, struct err *err);

#endif
