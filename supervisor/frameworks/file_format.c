/*
 * Recognises truncated files. Sources: APPNOTE.TXT 6.3.10 (zip), numpy/lib/format.py (npy),
 * safetensors README "Format", HDF5 File Format Specification 3.0 section II.A, ubjson.org. Sizes
 * come from the file, and may be anything: no sum or product here may wrap.
 */
#include "frameworks.h"

#include "base/json.h"
#include "base/text.h"
#include "shim/checkpoint_endings.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HDF5_UNDEFINED_ADDRESS UINT64_MAX

static uint64_t little_endian(const uint8_t *bytes, size_t count)
{
	uint64_t value = 0;

	for (size_t i = count; i-- > 0;)
		value = value << 8 | bytes[i];
	return value;
}

static uint64_t add_saturating(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

struct reason_buffer {
	char *text;
	size_t size;
};

static enum file_format_verdict report_torn(const struct reason_buffer *why, const char *text)
{
	text_set(why->text, why->size, text);
	return FILE_FORMAT_TORN;
}

static enum file_format_verdict report_too_short(const struct reason_buffer *why, uint64_t size,
						 uint64_t expected, const char *says)
{
	snprintf(why->text, why->size, "has %llu bytes, its %s says %llu", (unsigned long long)size,
		 says, (unsigned long long)expected);
	return FILE_FORMAT_TORN;
}

static bool begins_with_magic(const struct file_format_sample *sample, const char *magic,
			      size_t length)
{
	return sample->head_size >= length && memcmp(sample->head, magic, length) == 0;
}

static bool ends_in_one(const char *name, const char *const *endings)
{
	for (; *endings; endings++)
		if (text_ends(name, *endings))
			return true;
	return false;
}

/* --- zip: .pt, .pth, .ckpt, .bin, .npz, .keras --- */

#define ZIP_END 22
#define ZIP64_LOCATOR 20
#define ZIP64_END 56

/* The central directory must end where the end record begins, or where the zip64 records between
 * them begin, and the comment must be complete. */
static bool is_zip_end(const struct file_format_sample *sample, size_t at)
{
	const uint8_t *record = sample->tail + at;
	uint64_t position = sample->size - sample->tail_size + at;
	uint64_t directory_size = little_endian(record + 12, 4);
	uint64_t directory = little_endian(record + 16, 4);

	if (memcmp(record, "PK\5\6", 4) != 0 ||
	    sample->tail_size - at - ZIP_END < little_endian(record + 20, 2))
		return false;
	if (at >= ZIP64_LOCATOR + ZIP64_END && memcmp(record - ZIP64_LOCATOR, "PK\6\7", 4) == 0 &&
	    memcmp(record - ZIP64_LOCATOR - ZIP64_END, "PK\6\6", 4) == 0) {
		record -= ZIP64_LOCATOR + ZIP64_END;
		position -= ZIP64_LOCATOR + ZIP64_END;
		directory_size = little_endian(record + 40, 8);
		directory = little_endian(record + 48, 8);
	}
	return add_saturating(directory, directory_size) == position;
}

static enum file_format_verdict judge_zip(const struct file_format_sample *sample,
					  const struct reason_buffer *why)
{
	for (size_t at = sample->tail_size; at-- > 0;)
		if (sample->tail_size - at >= ZIP_END && is_zip_end(sample, at))
			return FILE_FORMAT_VALID;
	return report_torn(why, "has no zip end record");
}

/* --- npy --- */

#define NPY_MAGIC "\x93NUMPY"

/* Offset of the header's text; 0: unknown version. */
static size_t npy_text_at(const struct file_format_sample *sample)
{
	uint8_t version = sample->head_size > 12 ? sample->head[6] : 0;

	return version == 1 ? 10 : version == 2 || version == 3 ? 12 : 0;
}

static uint64_t npy_header_size(const struct file_format_sample *sample)
{
	size_t at = npy_text_at(sample);

	return at == 0 ? 0 : add_saturating(at, little_endian(sample->head + 8, at - 8));
}

/* Size of one item from "'<f4'"; 0: a structured type, an object, or not understood. */
static uint64_t npy_item_size(const char *descr)
{
	char kind[2], count[10], end[2];

	if (sscanf(descr, "'%*1[<>|=]%1[biufcSUVmM?]%9[0-9]%1['[]", kind, count, end) != 3)
		return 0;
	return (*kind == 'U' ? 4 : 1) * strtoull(count, NULL, 10);
}

/* The product of "(3, 4)"; false: not understood. */
static bool npy_item_count(const char *shape, uint64_t *count)
{
	char *end = NULL;

	*count = 1;
	if (*shape++ != '(')
		return false;
	while (*shape && *shape != ')') {
		unsigned long long extent = strtoull(shape, &end, 10);

		if (end == shape || *shape == '-')
			return false;
		*count = extent && *count > UINT64_MAX / extent ? UINT64_MAX : *count * extent;
		shape = end + strspn(end, "L, ");
	}
	return *shape == ')';
}

static const char *npy_value(const char *header, const char *key)
{
	const char *at = strstr(header, key);

	if (!at)
		return NULL;
	at += strlen(key);
	return at + strspn(at, ": ");
}

static enum file_format_verdict judge_npy(const struct file_format_sample *sample,
					  const struct reason_buffer *why)
{
	uint64_t header_size = npy_header_size(sample), item, count, expected;
	size_t at = npy_text_at(sample);
	const char *descr, *shape;
	char header[FILE_FORMAT_HEAD];

	if (sample->size <= 12 || header_size > sample->size)
		return report_torn(why, "ends in its npy header");
	/* A header that does not fit is that of a structured type, which is not understood. */
	if (header_size == 0 || header_size > sample->head_size ||
	    header_size - at >= sizeof(header))
		return FILE_FORMAT_UNKNOWN;
	memcpy(header, sample->head + at, header_size - at);
	header[header_size - at] = '\0';
	descr = npy_value(header, "'descr'");
	shape = npy_value(header, "'shape'");
	item = descr ? npy_item_size(descr) : 0;
	if (item == 0 || !shape || !npy_item_count(shape, &count))
		return FILE_FORMAT_UNKNOWN;
	expected =
		add_saturating(header_size, count > UINT64_MAX / item ? UINT64_MAX : count * item);
	/* A longer file is valid: several arrays may follow each other. */
	return sample->size < expected ? report_too_short(why, sample->size, expected, "npy header")
				       : FILE_FORMAT_VALID;
}

/* --- safetensors --- */

static uint64_t safetensors_header_size(const struct file_format_sample *sample)
{
	return sample->head_size < 8 ? UINT64_MAX
				     : add_saturating(8, little_endian(sample->head, 8));
}

/* The end of the last tensor: the second number of its "data_offsets". False: the header is no
 * JSON. */
static bool safetensors_data_end(const uint8_t *text, uint64_t size, uint64_t *most)
{
	auto_json json_t *header = json_loadb((const char *)text, size, 0, NULL);
	const char *name;
	json_t *tensor;

	*most = 0;
	json_object_foreach(header, name, tensor)
	{
		json_t *end = json_array_get(json_object_get(tensor, "data_offsets"), 1);

		if (json_integer_value(end) > 0 && (uint64_t)json_integer_value(end) > *most)
			*most = (uint64_t)json_integer_value(end);
	}
	return header != NULL;
}

static enum file_format_verdict judge_safetensors(const struct file_format_sample *sample,
						  const struct reason_buffer *why)
{
	uint64_t header_size = safetensors_header_size(sample), expected;

	if (header_size > sample->size)
		return report_torn(why, "ends in its safetensors header");
	if (sample->head_size <= 8 || sample->head[8] != '{')
		return report_torn(why, "has no safetensors header");
	if (header_size > sample->head_size ||
	    !safetensors_data_end(sample->head + 8, header_size - 8, &expected))
		return FILE_FORMAT_UNKNOWN;
	expected = add_saturating(header_size, expected);
	return sample->size < expected
		       ? report_too_short(why, sample->size, expected, "safetensors header")
		       : FILE_FORMAT_VALID;
}

/* --- HDF5 --- */

#define HDF5_MAGIC "\x89HDF\r\n\x1a\n"
#define HDF5_OPEN_FOR_WRITING 1

static enum file_format_verdict judge_hdf5(const struct file_format_sample *sample,
					   const struct reason_buffer *why)
{
	uint8_t version = sample->head_size > 15 ? sample->head[8] : 255;
	bool old = version <= 1;
	size_t addresses = old ? 24 + 4 * (size_t)version : 12;
	size_t width = sample->head_size > 15 ? sample->head[old ? 13 : 9] : 0;
	uint64_t base, end;

	if (sample->size < 48)
		return report_torn(why, "ends in its HDF5 superblock");
	/* Addresses are 8 bytes wide, except in files of decades ago. */
	if (version > 3 || width != 8 || sample->head_size < addresses + 3 * width)
		return FILE_FORMAT_UNKNOWN;
	base = little_endian(sample->head + addresses, 8);
	end = little_endian(sample->head + addresses + 16, 8);
	if (end == HDF5_UNDEFINED_ADDRESS)
		return report_torn(why, "has an HDF5 superblock that was not finished");
	if (version == 3 && (sample->head[11] & HDF5_OPEN_FOR_WRITING))
		return report_torn(why, "is marked by HDF5 as open for writing");
	end = add_saturating(base, end);
	return sample->size < end ? report_too_short(why, sample->size, end, "HDF5 superblock")
				  : FILE_FORMAT_VALID;
}

/* --- XGBoost's models, and the frameworks' JSON files: one object in braces --- */

/* The last member of an XGBoost model is its version, within this many bytes of the end. */
#define UBJSON_VERSION 40

static enum file_format_verdict judge_ubjson(const struct file_format_sample *sample,
					     const struct reason_buffer *why)
{
	size_t last = sample->tail_size < UBJSON_VERSION ? sample->tail_size : UBJSON_VERSION;
	const uint8_t *end = sample->tail + sample->tail_size;

	if (sample->head_size == 0 || sample->head[0] != '{')
		return FILE_FORMAT_UNKNOWN;
	return memmem(end - last, last, "version", 7) && end[-1] == '}'
		       ? FILE_FORMAT_VALID
		       : report_torn(why, "does not end as an XGBoost model does");
}

static enum file_format_verdict judge_json(const struct file_format_sample *sample,
					   const struct reason_buffer *why)
{
	size_t last = sample->tail_size;

	if (sample->head_size == 0 || sample->head[0] != '{')
		return FILE_FORMAT_UNKNOWN;
	while (last > 0 && memchr(" \t\r\n", sample->tail[last - 1], 4))
		last--;
	return last > 0 && sample->tail[last - 1] == '}' ? FILE_FORMAT_VALID
							 : report_torn(why, "has no closing brace");
}

/* --- pickle, from protocol 2 on --- */

/* Sources: Lib/pickletools.py (opcodes) and PEP 3154 (frames). */
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

static bool is_pickle(const struct file_format_sample *sample)
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

/* The end of its first frame, which is not the pickle's; 0: it has none. */
static uint64_t pickle_frame_end(const struct file_format_sample *sample)
{
	if (sample->head[1] < 4 || sample->head[2] != PICKLE_FRAME ||
	    sample->head_size < PICKLE_FRAME_AT)
		return 0;
	return add_saturating(PICKLE_FRAME_AT, little_endian(sample->head + 3, 8));
}

/* Whole is what ends with its first pickle: behind that, another one may have been to come. Torn is
 * only what is shorter than its first frame: later on, bytes that are no opcodes may be taken for
 * some. */
static enum file_format_verdict judge_pickle(const struct file_format_sample *sample,
					     const struct reason_buffer *why)
{
	uint64_t frame_end = pickle_frame_end(sample);

	if (sample->size < frame_end)
		return report_too_short(why, sample->size, frame_end, "pickle frame");
	return is_one_pickle(sample) && !is_pickle_with_more(sample)
		       ? FILE_FORMAT_VALID
		       : FILE_FORMAT_UNKNOWN;
}

/* --- the choice of the format --- */

/* Not every .json: some logs are lists that are never closed. */
static const char *const json_names[] = {"trainer_state.json", "training_metadata.json",
					 ".safetensors.index.json", ".bin.index.json", NULL};

size_t file_format_head_wanted(const struct file_format_sample *sample)
{
	uint64_t wanted = FILE_FORMAT_HEAD;

	if (text_ends(sample->name, ".safetensors"))
		wanted = safetensors_header_size(sample);
	else if (is_pickle(sample))
		wanted = sample->size;
	if (wanted > sample->size)
		wanted = sample->size;
	return wanted > FILE_FORMAT_HEAD_MOST ? FILE_FORMAT_HEAD_MOST : (size_t)wanted;
}

enum file_format_verdict file_format_check(const struct file_format_sample *sample, char *text,
					   size_t size)
{
	const struct reason_buffer why = {text, size};

	text_set(text, size, "");
	if (sample->size == 0)
		return checkpoint_ending_traits(sample->name) & ENDING_IS_FILLED
			       ? report_torn(&why, "is empty")
			       : FILE_FORMAT_UNKNOWN;
	/* PyTorch DCP: several zip archives or other data in a row. The file .metadata, not this
	 * one, shows whether the checkpoint is complete. */
	if (text_ends(sample->name, ".distcp"))
		return FILE_FORMAT_UNKNOWN;
	if (begins_with_magic(sample, "PK\3\4", 4) || begins_with_magic(sample, "PK\5\6", 4))
		return judge_zip(sample, &why);
	if (begins_with_magic(sample, NPY_MAGIC, 6))
		return judge_npy(sample, &why);
	if (begins_with_magic(sample, HDF5_MAGIC, 8))
		return judge_hdf5(sample, &why);
	if (text_ends(sample->name, ".safetensors"))
		return judge_safetensors(sample, &why);
	if (text_ends(sample->name, ".ubj"))
		return judge_ubjson(sample, &why);
	if (ends_in_one(sample->name, json_names))
		return judge_json(sample, &why);
	if (is_pickle(sample))
		return judge_pickle(sample, &why);
	return FILE_FORMAT_UNKNOWN;
}

enum file_format_end file_format_end(const struct file_format_sample *sample)
{
	/* The header, which says the length, is written first. */
	if (text_ends(sample->name, ".safetensors"))
		return sample->sparse ? FILE_FORMAT_END_UNKNOWN : FILE_FORMAT_END_OF_ALL;
	if (begins_with_magic(sample, NPY_MAGIC, 6))
		return sample->sparse ? FILE_FORMAT_END_UNKNOWN : FILE_FORMAT_END_OF_ONE;
	if (begins_with_magic(sample, "PK\3\4", 4) || begins_with_magic(sample, "PK\5\6", 4))
		return FILE_FORMAT_END_OF_ALL;
	if (text_ends(sample->name, ".ubj"))
		return FILE_FORMAT_END_OF_ALL;
	return is_pickle(sample) ? FILE_FORMAT_END_OF_ONE : FILE_FORMAT_END_UNKNOWN;
}

bool file_format_is_checkpoint_name(const char *path)
{
	return checkpoint_ending_traits(path) & ENDING_IS_STATE;
}
