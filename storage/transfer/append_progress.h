/* PURE. How far files that are still being written have been sent ahead. It is only a hint: the
 * take reads all of a file again, and what it finds sent counts. */
#ifndef APPEND_PROGRESS_H
#define APPEND_PROGRESS_H

#include "chunk_index.h"

/* So much at a time: a pack that is nearly full. */
#define APPEND_PROGRESS_STEP ((size_t)8) /* chunks */
#define APPEND_PROGRESS_FILES 64         /* the last ones */

struct append_progress {
	struct append_progress_file {
		dev_t device;
		ino_t inode;
		size_t chunks;
	} files[APPEND_PROGRESS_FILES]; /* a ring */
	size_t next;
};

/* Which chunks to send now, of a file whose stamp is that: from *first up to *end; false where
 * there are too few for the trouble. */
bool append_progress_next(const struct append_progress *append_progress,
			  const struct file_stamp *stamp, size_t *first, size_t *end);
/* How many of its chunks have been sent. */
size_t append_progress_sent(const struct append_progress *append_progress,
			    const struct file_stamp *stamp);
/* Its chunks up to there have been sent; 0 forgets it. */
void append_progress_set(struct append_progress *append_progress, const struct file_stamp *stamp,
			 size_t end);

#endif
