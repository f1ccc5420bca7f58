/* PRIVATE to storage/. How a directory and its files are read. */
#ifndef READING_H
#define READING_H

#include "base/cancel.h"
#include "base/cleanup.h"
#include "chunk_index.h"
#include "sending.h"
#include "storage/format/format.h"

#include <stdbool.h>

/*
 * Lists a directory as entries, opens its files, and applies metadata to
 * restored files. The walk holds the directories open: it does not follow symbolic links, and the
 * process never changes its directory.
 */

/* What the caller decides of each path, which is relative to the directory. Each may be NULL; all
 * are called with `arg`, on the caller's thread. */
struct file_tree_choice {
	/* True: the path is skipped, and if it is a directory, all that is below it. */
	bool (*exclude)(void *arg, const char *path);
	/* True: the file is a running one: it may grow while it is read, and a prefix is taken. */
	bool (*running)(void *arg, const char *path);
	/* The path of the file, in `source_directory`, whose content stands for this one; NULL: its
	 * own. Asked at the freeze. Owned by the callee, until the tree is released. */
	const char *(*source)(void *arg, const char *path);
	int (*source_directory)(void *arg);
	/* The files are written all the time: nothing is waited for, so that a stamp only describes
	 * the moment. */
	bool changing;
	void *arg;
};

struct file_tree_item {
	struct entry entry;      /* without chunks */
	struct file_stamp stamp; /* files: taken when the file was opened */
	uint32_t links;
	int fd;             /* files: open for reading; -1: the process ran out of descriptors */
	bool read;          /* files: all chunks are there, and the file did not change meanwhile */
	const char *source; /* see file_tree_choice; NULL: its own content */
	bool unsettled;     /* a later write may leave the stamp as it is */
	/* Not part of the snapshot after all: it is now excluded; or it is a running file that was
	 * truncated or taken away. file_tree_remove_dropped() removes both. */
	bool dropped, lost;
};

struct file_tree {
	char *root; /* absolute, links resolved; for messages, and for where links lead */
	int root_fd;
	int source_directory; /* see file_tree_choice; borrowed */
	uint32_t root_mode;
	struct file_tree_item *items; /* sorted by path */
	size_t count;
	uint32_t left_out;         /* skipped: sockets, devices, links that lead out */
	char *left_out_path;       /* the first skipped one by name; NULL: none */
	const char *left_out_what; /* what that one is: "a socket" */
	uint32_t lost;             /* running files that were truncated or taken away */
};

/*
 * Walks `directory`, then opens and stats every regular file at once, so that names may change
 * afterwards. Waits, a few ms at most, until any later write must change the ctime of a file that
 * is not a running one. `choice` may be NULL. ERR_RETRY: a file was deleted meanwhile; a running
 * file that was is dropped. Hard links are still files of their own: file_tree_freeze() or
 * file_tree_find_hardlinks() comes next. The caller frees with file_tree_release().
 */
int file_tree_open(const char *directory, const struct file_tree_choice *choice,
		   struct file_tree *tree, struct cancel *cancel, struct err *err);
void file_tree_release(struct file_tree *tree);
AUTO(struct file_tree, file_tree_release);

/*
 * Once what is open is known to be one checkpoint: asks `exclude` and `running` of every path once
 * more, drops what is now excluded, and gives the running files the size and the times that they
 * have now, or another file's content. Then finds the hard links.
 */
void file_tree_freeze(struct file_tree *tree, const struct file_tree_choice *choice);

/* Of several names of one file, the first in order stays the file; the others become hard links to
 * it, and their descriptors are closed. */
void file_tree_find_hardlinks(struct file_tree *tree);

/* Removes the items that are marked as dropped or lost, all that is below a dropped directory, and
 * the hard links to such a file. Adds the lost ones to tree->lost. */
void file_tree_remove_dropped(struct file_tree *tree);

/* Marks the directories as dropped in which there is nothing but directories, and of which `drops`
 * is true. */
void file_tree_drop_bare_directories(struct file_tree *tree,
				     bool (*drops)(void *arg, const char *path), void *arg);

/* Opens a file that file_tree_open() had no descriptor for. ERR_RETRY: another file has its name
 * now, or, if it is not a running one, it was written to. */
int file_tree_open_file(const struct file_tree *tree, struct file_tree_item *item, struct err *err);

/* Gives the entry the stamp by which a later save, of any process since that boot, knows that the
 * file has not changed. None if a later write may leave the times as they are. */
void file_tree_mark(struct file_tree_item *item, uint64_t boot);

/*
 * Waits for a write that is under way. The kernel changes the times of a file when a write begins
 * and holds the lock of its inode until that ends, on ext4, btrfs and tmpfs; to look for data takes
 * the same lock (llseek in fs/ext4/file.c, fs/btrfs/file.c, mm/shmem.c). So what is read after a
 * settled stamp and this wait holds no part of a write, unless the stamp has changed by then. XFS
 * reads nothing while a write is under way. Elsewhere it does nothing.
 */
void file_tree_await_writes(int fd);

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

/* Sets mode, user.* attributes and times of an open file or directory. A failure to
 * set an attribute that the file system does not support is ignored. */
int file_tree_apply_metadata(int fd, const struct entry *entry, struct err *err);

/* Fills tree->items with paths, types and link targets, sorted by path. tree->root must be set.
 * ERR_RETRY: the directory changed meanwhile. */
int file_tree_walk(struct file_tree *tree, const struct file_tree_choice *choice,
		   struct cancel *cancel, struct err *err);

/*
 * Reads the files of an open tree on all threads and packs them. A file of which only the ctime
 * changed meanwhile is read again. A file that was written to ends a save with ERR_RETRY; an early
 * upload skips it. Of a running file the prefix is read, once; if it gets shorter than that
 * meanwhile, it is marked as lost.
 */

struct file_reader_request {
	struct file_tree *tree;
	struct packing *packing;
	/* An early upload: a file that changes is skipped and is no error. */
	bool lenient;
	/* Not NULL: the files are still growing, and only the part that was added is read. `read`
	 * is then set for none of them. */
	struct append_progress *append_progress;
	/* May be NULL. Returns true to end early; what has been read is sent. Called from any
	 * thread. */
	bool (*enough)(void *arg);
	/* Called from any thread, and also while all readers wait for a buffer. */
	void (*on_progress)(void *arg, uint64_t bytes_done);
	void *arg;
};

/*
 * Reads the files of the tree that are not `read` yet.
 *
 * Fills entry.chunks of every file that was read to its end (file_tree_item.read is then true);
 * `pack` in them is a position in the storage's index. Blocks until all is read and handed to the
 * uploader, not until it is sent. ERR_RETRY: a file was written to meanwhile.
 */
int file_reader_run(const struct file_reader_request *request, struct err *err);

#endif
