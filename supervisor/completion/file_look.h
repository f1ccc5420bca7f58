/* What the detector asks about one file of the checkpoint directory, which is a const char *: so
 * these functions are detector_questions. Paths are relative to it; no symbolic link is followed at
 * their end. Blocks for the disk. */
#ifndef FILE_LOOK_H
#define FILE_LOOK_H

#include <stdbool.h>
#include <stdint.h>

struct file_look {
	bool exists, symlink;
	/* in bytes; 0 if it does not exist */
	uint64_t size;
	/* the time of its last write, in ns since 1970: the same for the same content; 0: unknown
	 */
	int64_t written;
};

struct file_look file_look_at(void *directory, const char *path);
/* By the first bytes of the file. False if they would have to be read from a disk: they are then
 * soon in the page cache. */
bool file_look_is_database(void *directory, const char *path);

#endif
