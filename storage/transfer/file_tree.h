/*
 * PRIVATE: a directory as a list of entries, and metadata onto files. The walk is libarchive's:
 * symbolic links are not followed, the process never changes its directory.
 */
#ifndef FILE_TREE_H
#define FILE_TREE_H

#include "base/cancel.h"
#include "base/cleanup.h"
#include "chunk_index.h"
#include "storage/format/format.h"

#include <stdbool.h>

struct file_tree_item {
	struct entry entry;      /* chunks are left out */
	struct file_stamp stamp; /* files: as of the moment they were opened */
	uint32_t links;
	int fd;    /* files: open for reading, or -1 where there were not descriptors enough */
	bool read; /* files: chunks are all there, and it did not change meanwhile */
};

struct file_tree {
	char *root; /* absolute, links resolved */
	int root_fd;
	uint32_t root_mode;
	struct file_tree_item *items; /* sorted by path */
	size_t count;
	uint32_t left_out;         /* sockets, devices, links that lead out */
	char *left_out_path;       /* the first of them by name; NULL: none */
	const char *left_out_what; /* and what it is: "a socket" */
};

/*
 * Walks, then opens and stats every regular file at once, so that what happens to the names
 * afterwards does not matter. Stamps are settled: whoever writes after this call leaves another
 * ctime. ERR_RETRY: a file went away meanwhile.
 */
int file_tree_open(const char *directory, bool (*exclude)(void *arg, const char *path), void *arg,
		   struct file_tree *tree, struct cancel *cancel, struct err *err);
/* The same of files that are being written all the time: stamps say nothing but what the file
 * was like just now. */
int file_tree_open_changing(const char *directory, bool (*exclude)(void *arg, const char *path),
			    void *arg, struct file_tree *tree, struct cancel *cancel,
			    struct err *err);
void file_tree_release(struct file_tree *tree);
AUTO(struct file_tree, file_tree_release);

/* Opens a file that file_tree_open() had no descriptor for. ERR_RETRY if it is
 * another file by now. */
int file_tree_open_file(const struct file_tree *tree, struct file_tree_item *item, struct err *err);

/* The stamp of an open file. With `settled`, waits the few ms that it takes until a later write
 * must leave another one. */
int file_tree_stamp(int fd, bool settled, struct file_stamp *stamp, struct cancel *cancel,
		    struct err *err);

/*
 * Whether anybody has the file open for writing, or mapped so: then a write may be under way that
 * leaves no other stamp when it ends, because the kernel sets the times when a write begins. False
 * also where it cannot be told (not our file, NFS, FUSE).
 */
bool file_tree_has_writers(int fd);

/* Mode, user.* attributes and times onto an open file or directory, then fsync.
 * Attributes are best effort. */
int file_tree_apply_metadata(int fd, const struct entry *entry, struct err *err);

#endif
