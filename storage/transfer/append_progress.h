/* PURE. How far a growing file has been uploaded early. Only a hint: the save reads the whole file
 * again and skips the chunks that it finds in the index. */
#ifndef APPEND_PROGRESS_H
#define APPEND_PROGRESS_H

#include "chunk_index.h"

/* Chunks to send at a time, of all files together: they fill a pack. */
#define APPEND_PROGRESS_STEP ((size_t)4)
/* The files that are remembered: the most recent ones. No more grow at a time: the others would be
 * begun anew each time. */
#define APPEND_PROGRESS_FILES 64

struct append_progress {
	struct append_progress_file {
		dev_t device;
		ino_t inode;
		size_t chunks;
	} files[APPEND_PROGRESS_FILES]; /* a ring */
	size_t next;
};

/* The chunks of the file that have become whole, from *first up to *end. False: none. */
bool append_progress_next(const struct append_progress *append_progress,
			  const struct file_stamp *stamp, size_t *first, size_t *end);
/* Whether so many chunks, of all growing files, are worth sending. */
bool append_progress_is_due(size_t chunks);
/* How many chunks of the file have been sent. */
size_t append_progress_sent(const struct append_progress *append_progress,
			    const struct file_stamp *stamp);
/* Records that the chunks before `end` have been sent; 0 drops the file. */
void append_progress_set(struct append_progress *append_progress, const struct file_stamp *stamp,
			 size_t end);

#endif
