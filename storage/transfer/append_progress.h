/*
 * PURE. How far a growing file has been uploaded early. Only a hint: the save reads the whole file
 * again and skips the chunks that it finds in the index.
 *
 * A writer may go back, as to the header of a record once the record is written, and what was sent
 * of that chunk is no use. So what was sent is looked at once more in the next round, and sent anew
 * then, not after the last byte. A writer that does not go back is believed after a while.
 */
#ifndef APPEND_PROGRESS_H
#define APPEND_PROGRESS_H

#include "chunk_index.h"

/* Chunks to send at a time, of all files together: they fill a pack. */
#define APPEND_PROGRESS_STEP ((size_t)4)
/* The files that are remembered: the most recent ones. No more grow at a time: the others would be
 * begun anew each time. */
#define APPEND_PROGRESS_FILES 64
/* So many chunks in a row that were as they had been sent: none is looked at again. */
#define APPEND_PROGRESS_CALM 16

struct append_progress {
	struct append_progress_file {
		dev_t device;
		ino_t inode;
		size_t chunks;
		size_t settled; /* the chunks before it were looked at again, or need not be */
	} files[APPEND_PROGRESS_FILES]; /* a ring */
	size_t next;
	size_t calm; /* chunks in a row, of all files, that were as they had been sent */
};

/* The chunks of the file that have become whole, from *first up to *end. False: none. */
bool append_progress_next(const struct append_progress *append_progress,
			  const struct file_stamp *stamp, size_t *first, size_t *end);
/* Whether so many chunks, of all growing files, are worth sending. */
bool append_progress_is_due(size_t chunks);
/* How many chunks of the file have been sent. */
size_t append_progress_sent(const struct append_progress *append_progress,
			    const struct file_stamp *stamp);
/* From which of the chunks that have been sent on it is to be looked again. */
size_t append_progress_settled(const struct append_progress *append_progress,
			       const struct file_stamp *stamp);
/* A chunk was looked at again: it was as it had been sent, or not. */
void append_progress_note(struct append_progress *append_progress, bool same);
/* Records that the chunks before `end` have been sent, and those that had been sent before have
 * been looked at again; 0 drops the file. */
void append_progress_set(struct append_progress *append_progress, const struct file_stamp *stamp,
			 size_t end);

#endif
