/* Sources: Lib/pickletools.py (opcodes) and PEP 3154 (frames). */
#include "pickle_format.h"

#include "format_numbers.h"

#include <string.h>

#define PICKLE_PROTOCOL 0x80
#define PICKLE_FRAME 0x95
#define PICKLE_STOP '.'
/* PROTO, its number, FRAME, and the frame's length. */
#define PICKLE_FRAME_AT 11

/* The opcodes of an ordinary pickle, by what follows them. The others are left out, and whoever
 * meets one has no opinion: those of protocols 0 and 1, and those for data that is kept outside of
 * the pickle (BINPERSID, NEXT_BUFFER), which may be still to come. */
static const struct pickle_opcodes {
	const char *opcodes;
	unsigned bytes;  /* a fixed number of them; a frame's contents are opcodes themselves */
	unsigned length; /* bytes of a length, and as many as it says */
	unsigned lines;
} pickle_opcodes[] = {
	{.opcodes = "(012NRabd}el]ost)u\x81\x85\x86\x87\x88\x89\x8f\x90\x91\x92\x93\x94"},
	{.opcodes = "Khq", .bytes = 1},
	{.opcodes = "M", .bytes = 2},
	{.opcodes = "Jjr", .bytes = 4},
	{.opcodes = "G\x95", .bytes = 8},
	{.opcodes = "UC\x8a\x8c", .length = 1},
	{.opcodes = "TXB\x8b", .length = 4},
	{.opcodes = "\x8d\x8e\x96", .length = 8},
	{.opcodes = "c", .lines = 2},
};

bool pickle_format_is(const struct file_format_sample *sample)
{
	return sample->head_size > 2 && sample->head[0] == PICKLE_PROTOCOL &&
	       sample->head[1] >= 2 && sample->head[1] <= 5;
}

/* As much is read between head and tail in one piece, and in how many. */
#define PIECE_SIZE 4096
#define PIECES_MOST 4096

struct pickle_walk {
	const struct file_format_sample *sample;
	uint8_t piece[PIECE_SIZE];
	uint64_t piece_at;
	size_t piece_size;
	unsigned pieces;
};

static void read_piece(struct pickle_walk *walk, uint64_t at)
{
	const struct file_format_sample *sample = walk->sample;

	walk->piece_at = at;
	walk->piece_size = 0;
	if (sample->read && walk->pieces++ < PIECES_MOST)
		walk->piece_size = sample->read(sample->file, at, walk->piece, PIECE_SIZE);
}

/* `count` bytes at `at`, few; NULL: they are not all there. */
static const uint8_t *pickle_bytes(struct pickle_walk *walk, uint64_t at, uint64_t count)
{
	const struct file_format_sample *sample = walk->sample;
	uint64_t tail_at = sample->size - sample->tail_size;

	if (at > sample->size || count > sample->size - at)
		return NULL;
	if (at + count <= sample->head_size)
		return sample->head + at;
	if (at >= tail_at)
		return sample->tail + (at - tail_at);
	if (at < walk->piece_at || at + count > walk->piece_at + walk->piece_size)
		read_piece(walk, at);
	return count <= walk->piece_size ? walk->piece + (at - walk->piece_at) : NULL;
}

static const struct pickle_opcodes *find_pickle_opcode(uint8_t opcode)
{
	for (size_t i = 0; i < sizeof(pickle_opcodes) / sizeof(pickle_opcodes[0]); i++)
		if (opcode && strchr(pickle_opcodes[i].opcodes, opcode))
			return &pickle_opcodes[i];
	return NULL;
}

/* Behind the argument of the opcode at `at`; UINT64_MAX: that is not known. */
static uint64_t behind_pickle_opcode(struct pickle_walk *walk, uint64_t at)
{
	const uint8_t *byte = pickle_bytes(walk, at++, 1);
	const struct pickle_opcodes *kind = byte ? find_pickle_opcode(*byte) : NULL;

	if (!kind)
		return UINT64_MAX;
	for (unsigned line = 0; line < kind->lines;) {
		byte = pickle_bytes(walk, at++, 1);
		if (!byte)
			return UINT64_MAX;
		line += *byte == '\n';
	}
	if (kind->length > 0) {
		byte = pickle_bytes(walk, at, kind->length);
		return byte ? add_saturating(at + kind->length, little_endian(byte, kind->length))
			    : UINT64_MAX;
	}
	return at + kind->bytes;
}

/* Is the first pickle of the file known to end where the file does? */
static bool is_one_pickle(const struct file_format_sample *sample)
{
	struct pickle_walk walk = {.sample = sample};
	uint64_t at = 2;
	const uint8_t *byte;

	while ((byte = pickle_bytes(&walk, at, 1)) && *byte != PICKLE_STOP)
		at = behind_pickle_opcode(&walk, at);
	return byte && at + 1 == sample->size;
}

/* PyTorch's old format, in which more pickles and then the bare contents of the tensors follow a
 * pickle of this number; and joblib's, which has the contents of arrays between the opcodes. */
static bool is_pickle_with_more(const struct file_format_sample *sample)
{
	static const char torch[] = "\x8a\n\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
	static const char joblib[] = "joblib.numpy_pickle";
	size_t start = sample->head_size < 32 ? sample->head_size : 32;

	return memmem(sample->head, start, torch, sizeof(torch) - 1) ||
	       memmem(sample->head, sample->head_size, joblib, sizeof(joblib) - 1);
}

uint64_t pickle_format_frame_end(const struct file_format_sample *sample)
{
	if (sample->head[1] < 4 || sample->head[2] != PICKLE_FRAME ||
	    sample->head_size < PICKLE_FRAME_AT)
		return 0;
	return add_saturating(PICKLE_FRAME_AT, little_endian(sample->head + 3, 8));
}

bool pickle_format_is_whole(const struct file_format_sample *sample)
{
	return is_one_pickle(sample) && !is_pickle_with_more(sample);
}
