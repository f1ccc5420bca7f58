/*
 * PRIVATE: reads the files of a frozen tree on all threads and packs them. A file of which only the
 * ctime moved meanwhile is read again; one that was written to ends a take, and is left alone by a
 * presend.
 */
#ifndef FILE_READER_H
#define FILE_READER_H

#include "append_progress.h"
#include "file_tree.h"
#include "packer.h"

struct file_reader_request {
	struct file_tree *tree;
	struct packing *packing;
	/* A presend: a file that changes is passed over, and nothing fails. */
	bool lenient;
	/* NULL, or: the files are still being written, and only what they have grown by is read.
	 * None counts as read then. */
	struct append_progress *append_progress;
	/* NULL, or: true ends it early; what has been read is handed over. Any thread. */
	bool (*enough)(void *arg);
	void (*on_progress)(void *arg, uint64_t bytes_done); /* as it goes, from any thread */
	void *arg;
};

/*
 * Fills entry.chunks of every file that was read to its end (file_tree_item.read); `pack` in them
 * counts in the storage's index. All that was packed is with the uploader when it returns 0, on its
 * way.
 */
int file_reader_run(const struct file_reader_request *request, struct err *err);

#endif
