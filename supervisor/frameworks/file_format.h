/*
 * PURE. Is a file complete by its own format? Judges by its first and last bytes and its size, for
 * formats that record where they end: zip, npy, safetensors, HDF5, XGBoost's, and the frameworks'
 * JSON. Detects a truncated file, but not a hole in the middle.
 *
 * A pickle (protocol 2 to 5) ends where its opcodes say. It is VALID if that is the end of the
 * file: of what lies between head and tail, only the opcodes are read, and not the arrays between
 * them; and TORN if it is shorter than its first frame. With several pickles or other data in one
 * file (joblib, PyTorch's old format), it is UNKNOWN.
 */
#ifndef FILE_FORMAT_H
#define FILE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many bytes to read: of the head before file_format_head_wanted() is called; of the tail,
 * enough for a zip end record with the longest comment; of the head at most. */
#define FILE_FORMAT_HEAD 4096
#define FILE_FORMAT_TAIL (65536 + 128)
#define FILE_FORMAT_HEAD_MOST (16 << 20)

enum file_format_verdict {
	FILE_FORMAT_UNKNOWN, /* not a format that is known here */
	FILE_FORMAT_VALID,   /* it ends where the format records its end */
	FILE_FORMAT_TORN,    /* truncated, or not finished by its writer */
};

struct file_format_sample {
	const char *name; /* the last part of the path */
	uint64_t size;
	const uint8_t *head; /* the first bytes */
	size_t head_size;
	const uint8_t *tail; /* the last bytes; may overlap the head */
	size_t tail_size;
	bool sparse; /* it has holes: its length was set before it was written */
	/* Reads what lies elsewhere, as pread(2): how many bytes; NULL: nothing more is read. */
	size_t (*read)(const void *file, uint64_t at, void *to, size_t size);
	const void *file;
};

/* Given the first FILE_FORMAT_HEAD bytes: how many of the head file_format_check() needs. Never
 * more than FILE_FORMAT_HEAD_MOST. */
size_t file_format_head_wanted(const struct file_format_sample *sample);

/* `why` (`size` bytes): for TORN, a clause to follow the file's name, such as "has no zip end
 * record". */
enum file_format_verdict file_format_check(const struct file_format_sample *sample, char *why,
					   size_t size);

/* Of a VALID file that was written from empty, and whose close nobody saw: was all of it written?
 */
enum file_format_end {
	FILE_FORMAT_END_UNKNOWN, /* it may be VALID before that, as HDF5 is after each flush */
	/* that is one whole object, and another may have been to follow in the file: a pickle, npy
	 */
	FILE_FORMAT_END_OF_ONE,
	/* what makes it VALID is written last: zip, safetensors, XGBoost's */
	FILE_FORMAT_END_OF_ALL,
};

enum file_format_end file_format_end(const struct file_format_sample *sample);

/* Is that a name which checkpoint files usually have (*.pt, *.safetensors, *.pkl, ...)? By the last
 * part of the path. */
bool file_format_is_checkpoint_name(const char *path);

#endif
