/*
 * Reads the files of an open tree on all threads and packs them. A file of which only the ctime
 * changed meanwhile is read again. A file that was written to ends a save with ERR_RETRY; an early
 * upload skips it. Of a running file the prefix is read, once; if it gets shorter than that
 * meanwhile, it is marked as lost.
 */
#ifndef FILE_READER_H
#define FILE_READER_H

#include "append_progress.h"
#include "file_tree.h"
#include "packer.h"

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
