/*
 * PURE. Is a file whole, as far as its own format tells: from its first and last bytes and its size. For formats that say where they
 * end; of any other there is no opinion. A file that is cut off is found out, one with a hole in the middle is not.
 */
#ifndef FILE_FORMAT_H
#define FILE_FORMAT_H

#include <stddef.h>
#include <stdint.h>

/* What is worth reading before content_head_wanted() is asked, and of the end: a zip's end record with the longest comment. */
#define CONTENT_HEAD 4096
#define CONTENT_TAIL (65536 + 128)
#define CONTENT_HEAD_MOST (16 << 20)

enum content_verdict {
	CONTENT_UNKNOWN, /* no format that is known here */
	CONTENT_WHOLE,   /* it ends where it says */
	CONTENT_TORN,
};

struct content_sample {
	const char *name; /* the last part of the path */
	uint64_t size;
	const uint8_t *head; /* the first bytes */
	size_t head_size;
	const uint8_t *tail; /* the last bytes; may overlap the head */
	size_t tail_size;
};

/* How many of the first bytes content_judge() needs, when it is shown the first CONTENT_HEAD: never more than CONTENT_HEAD_MOST. */
size_t content_head_wanted(const struct content_sample *sample);

/* `why`: for TORN a clause that follows the file's name, "has no zip end record". Time grows with what it is shown, memory does not. */
enum content_verdict content_judge(const struct content_sample *sample, char *why, size_t size);

#endif
