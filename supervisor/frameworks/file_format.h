/*
 * PURE. Is a file whole, as far as its own format tells: from its first and last bytes and its
 * size. For formats that say where they end; of any other there is no opinion. A file that is cut
 * off is found out, one with a hole in the middle is not.
 */
#ifndef FILE_FORMAT_H
#define FILE_FORMAT_H

#include <stddef.h>
#include <stdint.h>

/* What is worth reading before file_format_head_wanted() is asked, and of the end: a zip's end
 * record with the longest comment. */
#define FILE_FORMAT_HEAD 4096
#define FILE_FORMAT_TAIL (65536 + 128)
#define FILE_FORMAT_HEAD_MOST (16 << 20)

enum file_format_verdict {
	FILE_FORMAT_UNKNOWN, /* no format that is known here */
	FILE_FORMAT_VALID,   /* it ends where it says */
	FILE_FORMAT_TORN,
};

struct file_format_sample {
	const char *name; /* the last part of the path */
	uint64_t size;
	const uint8_t *head; /* the first bytes */
	size_t head_size;
	const uint8_t *tail; /* the last bytes; may overlap the head */
	size_t tail_size;
};

/* How many of the first bytes file_format_check() needs, when it is shown the first
 * FILE_FORMAT_HEAD: never more than FILE_FORMAT_HEAD_MOST. */
size_t file_format_head_wanted(const struct file_format_sample *sample);

/* `why`: for TORN a clause that follows the file's name, "has no zip end record". Time grows with
 * what it is shown, memory does not. */
enum file_format_verdict file_format_check(const struct file_format_sample *sample, char *why,
					   size_t size);

#endif
