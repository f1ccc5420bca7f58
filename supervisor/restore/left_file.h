/*
 * PURE. Does a file stay where it is that was under way when the last supervisor here was killed
 * together with the job, and of whose save nothing is known to be missing (under_way.h)?
 */
#ifndef LEFT_FILE_H
#define LEFT_FILE_H

#include <stdbool.h>
#include <stdint.h>

struct left_file {
	/* its writer, which lived, has closed it; false: that was not seen */
	bool closed;
	/* the machine was started anew since: a crash may have lost content */
	bool rebooted;
	/* in a directory, where the next file may have been still to come */
	bool in_directory;
	/* it overwrites one that was complete: it may be newer than the rest of a set */
	bool recorded;
	/* enum content_mark: what its content says */
	unsigned content;
	/* its size, and that of the one before it, by its name; 0: there is none */
	uint64_t size, before;
};

/*
 * What was closed stays, unless its format says that it is torn, which is asked before this; where
 * more may have been lost than its end, only if its format says that it is whole. What was not seen
 * to be closed stays only if its format says that all of it was written. If another object may have
 * been to follow in it, as behind a pickle, it must not be shorter than the one before it.
 */
bool left_file_stays(const struct left_file *file);

#endif
