/*
 * tests/vectors/content holds small files that the libraries themselves have written (make.py
 * there). Each is judged whole as it is, and never when it is cut off, wherever that is. The rows
 * below are what files cannot be made to say so easily.
 */
#include "frameworks/frameworks.h"

#include "base/file.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

static enum file_format_verdict judge_bytes(const char *name, const uint8_t *bytes, size_t size,
					    uint64_t claimed, char why[128])
{
	struct file_format_sample sample = {.name = name, .size = claimed, .head = bytes};
	size_t tail = size < FILE_FORMAT_TAIL ? size : FILE_FORMAT_TAIL;

	sample.head_size = size < FILE_FORMAT_HEAD ? size : FILE_FORMAT_HEAD;
	sample.head_size = file_format_head_wanted(&sample);
	if (sample.head_size > size)
		sample.head_size = size;
	sample.tail = bytes + size - tail;
	sample.tail_size = tail;
	return file_format_check(&sample, why, 128);
}

/* In memory of exactly that size, so that a sanitizer sees a read beyond it. */
static enum file_format_verdict judge_copy(const char *name, const void *bytes, size_t size,
					   char why[128])
{
	uint8_t *copy = malloc(size ? size : 1);
	enum file_format_verdict verdict;

	assert_non_null(copy);
	memcpy(copy, bytes, size);
	verdict = judge_bytes(name, copy, size, size, why);
	free(copy);
	return verdict;
}

/* `cut_from`: shorter than that, nothing shows what it is. */
static const struct vector {
	const char *file;
	size_t cut_from;
	const char *why; /* with the last byte gone */
} vectors[] = {
	{"array.npy", 6, "has 175 bytes, its npy header says 176"},
	{"scalar.npy", 6, "has 135 bytes, its npy header says 136"},
	{"text.npy", 6, "has 167 bytes, its npy header says 168"},
	{"version2.npy", 6, "has 167 bytes, its npy header says 168"},
	{"arrays.npz", 4, "has no zip end record"},
	{"model.pt", 4, "has no zip end record"},
	{"comment.zip", 4, "has no zip end record"},
	{"nothing.zip", 4, "has no zip end record"},
	{"large.zip", 4, "has no zip end record"},
	{"zip64.zip", 4, "has no zip end record"},
	{"model.safetensors", 0, "has 231 bytes, its safetensors header says 232"},
	{"empty.safetensors", 0, "ends in its safetensors header"},
	{"old.h5", 8, "has 2095 bytes, its HDF5 superblock says 2096"},
	{"middle.h5", 8, "has 2095 bytes, its HDF5 superblock says 2096"},
	{"new.h5", 8, "has 2095 bytes, its HDF5 superblock says 2096"},
	{"model.ubj", 1, "does not end as an XGBoost model does"},
	{"state2.pkl", SIZE_MAX, ""},
	{"state3.pkl", SIZE_MAX, ""},
	{"state4.pkl", 11, "has 394 bytes, its pickle frame says 395"},
	{"state5.pkl", 11, "has 394 bytes, its pickle frame says 395"},
};

static void read_vector(const char *file, struct bytes *bytes)
{
	char path[512];
	struct err err;

	snprintf(path, sizeof(path), "%s/%s", CONTENT_VECTORS, file);
	*bytes = (struct bytes){.limit = 1 << 20};
	assert_int_equal(file_read(path, bytes, &err), 0);
}

static void test_files_of_the_libraries(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		const struct vector *vector = &vectors[i];
		struct bytes bytes;
		char why[128];

		print_message("%s\n", vector->file);
		read_vector(vector->file, &bytes);
		assert_int_equal(judge_copy(vector->file, bytes.data, bytes.size, why),
				 FILE_FORMAT_VALID);
		for (size_t size = 0; size < bytes.size; size++) {
			enum file_format_verdict verdict =
				judge_copy(vector->file, bytes.data, size, why);

			if (verdict == FILE_FORMAT_VALID)
				fail_msg("%s with %zu bytes", vector->file, size);
			if (size >= vector->cut_from && verdict != FILE_FORMAT_TORN)
				fail_msg("%s with %zu bytes: no opinion", vector->file, size);
		}
		assert_string_equal(why, vector->why);
		bytes_release(&bytes);
	}
}

/* One array behind the other in one file: whole with one, with two, and with what follows. */
static void test_several_arrays(void **state)
{
	struct bytes bytes;
	char why[128];

	(void)state;
	read_vector("two.npy", &bytes);
	assert_int_equal(judge_copy("two.npy", bytes.data, bytes.size, why), FILE_FORMAT_VALID);
	assert_int_equal(judge_copy("two.npy", bytes.data, bytes.size - 1, why), FILE_FORMAT_VALID);
	assert_int_equal(judge_copy("two.npy", bytes.data, 133, why), FILE_FORMAT_TORN);
	bytes_release(&bytes);
}

/* Written over the middle of a bigger one: an end record that belongs to nothing
 * that comes before it. */
static void test_an_end_record_of_another(void **state)
{
	struct bytes bytes;
	char why[128];
	uint8_t both[4096];

	(void)state;
	read_vector("arrays.npz", &bytes);
	memcpy(both, bytes.data, 100);
	memcpy(both + 100, bytes.data, bytes.size);
	assert_int_equal(judge_copy("a.npz", both, bytes.size + 100, why), FILE_FORMAT_TORN);
	bytes_release(&bytes);
}

/* What HDF5 leaves in the superblock of a file that nobody closed. */
static void test_hdf5_left_open(void **state)
{
	struct bytes bytes;
	char why[128];

	(void)state;
	read_vector("new.h5", &bytes);
	((uint8_t *)bytes.data)[11] |= 1;
	assert_int_equal(judge_copy("new.h5", bytes.data, bytes.size, why), FILE_FORMAT_TORN);
	assert_string_equal(why, "is marked by HDF5 as open for writing");
	((uint8_t *)bytes.data)[11] = 0;
	memset((uint8_t *)bytes.data + 28, 0xff, 8);
	assert_int_equal(judge_copy("new.h5", bytes.data, bytes.size, why), FILE_FORMAT_TORN);
	assert_string_equal(why, "has an HDF5 superblock that was not finished");
	bytes_release(&bytes);
}

#define TEXT(text) (text), sizeof(text) - 1
#define NPY(dictionary) TEXT("\x93NUMPY\1\0\x60\0" dictionary)

// clang-format off
static const struct row {
	const char *name, *bytes;
	size_t size;
	enum file_format_verdict verdict;
} rows[] = {
	{"notes.txt", TEXT("anything"), FILE_FORMAT_UNKNOWN},
	{"notes.txt", TEXT(""), FILE_FORMAT_UNKNOWN},
	{"model.pt", TEXT(""), FILE_FORMAT_TORN},
	{"model.h5", TEXT(""), FILE_FORMAT_TORN},
	{"legacy.pt", TEXT("\x80\2\x8a\nl\xfc\x9c"), FILE_FORMAT_UNKNOWN},
	{"latest", TEXT("global_step5"), FILE_FORMAT_UNKNOWN},
	/* The first pickle of PyTorch's old format, and the two that follow. */
	{"legacy.pt", TEXT("\x80\2\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19."), FILE_FORMAT_UNKNOWN},
	{"legacy.pt", TEXT("\x80\2\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19.\x80\2M\xe9\3."),
		FILE_FORMAT_UNKNOWN},
	{"one.pkl", TEXT("\x80\2M\xe9\3."), FILE_FORMAT_VALID},
	{"two.pkl", TEXT("\x80\2M\xe9\3.\x80\2M\xe9\3."), FILE_FORMAT_UNKNOWN},
	{"one.pkl", TEXT("\x80\2M\xe9\3.\n"), FILE_FORMAT_UNKNOWN},
	/* Its last byte is one of a number, or of a text. */
	{"one.pkl", TEXT("\x80\2M\xe9."), FILE_FORMAT_UNKNOWN},
	{"one.pkl", TEXT("\x80\2U\5abcd."), FILE_FORMAT_UNKNOWN},
	{"one.pkl", TEXT("\x80\2cos\nsyste."), FILE_FORMAT_UNKNOWN},
	{"one.pkl", TEXT("\x80\4\x8e\xff\xff\xff\xff\xff\xff\xff\xff."), FILE_FORMAT_UNKNOWN},
	/* Data that is kept elsewhere; an opcode of protocol 0; one that does not exist. */
	{"one.pkl", TEXT("\x80\2K\1Q."), FILE_FORMAT_UNKNOWN},
	{"one.pkl", TEXT("\x80\5\x97."), FILE_FORMAT_UNKNOWN},
	{"one.pkl", TEXT("\x80\2I1\n."), FILE_FORMAT_UNKNOWN},
	{"one.pkl", TEXT("\x80\2\xff."), FILE_FORMAT_UNKNOWN},
	{"one.pkl", TEXT("\x80\6N."), FILE_FORMAT_UNKNOWN},
	/* Arrays lie between the opcodes. */
	{"model.pkl", TEXT("\x80\4\x8c\x13joblib.numpy_pickle."), FILE_FORMAT_UNKNOWN},
	{"one.pkl", TEXT("\x80\4\x95\x7f\0\0\0\0\0\0\0."), FILE_FORMAT_TORN},
	{"one.pkl", TEXT("\x80\4\x95\xff\xff\xff\xff\xff\xff\xff\xff."), FILE_FORMAT_TORN},
	{"model.safetensors", TEXT("1234567"), FILE_FORMAT_TORN},
	{"model.safetensors", TEXT("\0\0\0\0\0\0\0\0\0\0\0\0"), FILE_FORMAT_TORN},
	{"model.safetensors", TEXT("\xff\xff\xff\xff\xff\xff\xff\xff{}"), FILE_FORMAT_TORN},
	{"model.safetensors", TEXT("\xf7\xff\xff\xff\xff\xff\xff\xff{}"), FILE_FORMAT_TORN},
	{"model.safetensors", TEXT("\2\0\0\0\0\0\0\0{}"), FILE_FORMAT_VALID},
	{"model.safetensors",
		TEXT("\x2e\0\0\0\0\0\0\0{\"a\":{\"data_offsets\":[0,9223372036854775807]}}"),
		FILE_FORMAT_TORN},
	/* No JSON, or no header's: nothing is known. */
	{"model.safetensors",
		TEXT("\x32\0\0\0\0\0\0\0{\"a\":{\"data_offsets\":[0,99999999999999999999999]}}"),
		FILE_FORMAT_UNKNOWN},
	{"model.safetensors", TEXT("\x10\0\0\0\0\0\0\0{\"data_offsets\":"), FILE_FORMAT_UNKNOWN},
	{"model.safetensors", TEXT("\4\0\0\0\0\0\0\0{\"\\\""), FILE_FORMAT_UNKNOWN},
	{"model.safetensors", TEXT("\x14\0\0\0\0\0\0\0{\"data_offsets\":[9]}"), FILE_FORMAT_VALID},
	{"a.npy",
		NPY("{'descr': '<f8', 'shape': (4294967296, 4294967296), }                         "
			"                     "), FILE_FORMAT_TORN},
	{"a.npy",
		NPY("{'descr': '<f8', 'shape': (99999999999999999999999999,), }                    "
			"                     "), FILE_FORMAT_TORN},
	{"a.npy",
		NPY("{'descr': '<f8', 'shape': (0, 18446744073709551615), }                        "
			"                     "), FILE_FORMAT_VALID},
	{"a.npy",
		NPY("{'descr': '<f8', 'shape': (-1,), }                                            "
			"                     "), FILE_FORMAT_UNKNOWN},
	{"a.npy",
		NPY("{'descr': '|O', 'shape': (3,), }                                              "
			"                     "), FILE_FORMAT_UNKNOWN},
	{"a.npy",
		NPY("{'descr': [('a', '<f8')], 'shape': (3,), }                                    "
			"                     "), FILE_FORMAT_UNKNOWN},
	{"a.npy",
		NPY("{'descr': '<f8', 'shape': (3                                                  "
			"                     "), FILE_FORMAT_UNKNOWN},
	{"a.npy",
		NPY("nothing of the kind                                                           "
			"                     "), FILE_FORMAT_UNKNOWN},
	{"a.npy", TEXT("\x93NUMPY\1\0\xff\xff{}        "), FILE_FORMAT_TORN},
	{"a.npy", TEXT("\x93NUMPY\2\0\xff\xff\xff\xff{}        "), FILE_FORMAT_TORN},
	{"a.npy", TEXT("\x93NUMPY\x63\0\xff\xff{}        "), FILE_FORMAT_UNKNOWN},
	{"a.zip", TEXT("PK\3\4PK\5\6\0\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\0\0"),
		FILE_FORMAT_TORN},
	{"__0_0.distcp", TEXT("PK\3\4 and another one"), FILE_FORMAT_UNKNOWN},
	{"__0_0.distcp", TEXT(""), FILE_FORMAT_TORN},
	{"trainer_state.json", TEXT("{\"global_step\": 5}\n"), FILE_FORMAT_VALID},
	{"trainer_state.json", TEXT("{\"global_step\": 5"), FILE_FORMAT_TORN},
	{"model.safetensors.index.json", TEXT("{\"weight_map\": {"), FILE_FORMAT_TORN},
	{"log_history.json", TEXT("{\"global_step\": 5"), FILE_FORMAT_UNKNOWN},
};
// clang-format on

static void test_rows(void **state)
{
	char why[128];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		enum file_format_verdict verdict =
			judge_copy(rows[i].name, rows[i].bytes, rows[i].size, why);

		if (verdict != rows[i].verdict)
			fail_msg("row %zu, %s: %d", i, rows[i].name, (int)verdict);
		assert_int_equal(verdict == FILE_FORMAT_TORN, why[0] != '\0');
	}
}

/* Garbage behind each magic number, at every size: no answer matters, but it must come, and from
 * within the bytes. */
static void test_garbage(void **state)
{
	static const char *const starts[] = {"PK\3\4",      "\x93NUMPY\1",
					     "\x93NUMPY\2", "\x89HDF\r\n\x1a\n",
					     "{",           "",
					     "\x80\4\x95",  "\x80\2"};
	uint32_t seed = 1;
	char why[128];

	(void)state;
	for (int round = 0; round < 20000; round++) {
		const char *start = starts[round % 8];
		uint8_t bytes[300];
		size_t size = (size_t)round % sizeof(bytes);

		for (size_t i = 0; i < size; i++) {
			seed = seed * 1103515245 + 12345;
			bytes[i] = i < strlen(start) ? (uint8_t)start[i]
				   : seed & 1 << 20  ? 0
						     : (uint8_t)(seed >> 16);
		}
		judge_copy(round % 2 ? "x.safetensors" : "x.npy", bytes, size, why);
	}
}

/* A header that says it is huge is not read whole. */
static void test_bounded(void **state)
{
	uint8_t head[16] = {0, 0, 0, 0, 1, 0, 0, 0, '{'};
	struct file_format_sample sample = {
		.name = "model.safetensors",
		.size = 1ULL << 40,
		.head = head,
		.head_size = sizeof(head),
		.tail = head,
		.tail_size = sizeof(head),
	};
	char why[128];

	(void)state;
	assert_int_equal(file_format_head_wanted(&sample), FILE_FORMAT_HEAD_MOST);
	assert_int_equal(file_format_check(&sample, why, sizeof(why)), FILE_FORMAT_UNKNOWN);
}

/* Large objects lie between the frames: their data is passed over, from the head into the tail, and
 * what lies in neither leaves no opinion. */
static void test_pickle_of_large_objects(void **state)
{
	static const struct {
		uint64_t bytes; /* of the object */
		size_t given;   /* of the file's end */
		char last;
		enum file_format_verdict verdict;
	} objects[] = {
		{100000, 20, '.', FILE_FORMAT_VALID},
		{1ULL << 40, 20, '.', FILE_FORMAT_VALID},
		{1ULL << 40, 20, 'N', FILE_FORMAT_UNKNOWN},
		{1ULL << 40, 3, '.', FILE_FORMAT_UNKNOWN},
	};
	static const uint8_t start[] = {0x80, 4, 0x95, 2, 0, 0, 0, 0, 0, 0, 0, ']', 0x94, 0x8e};

	(void)state;
	for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++) {
		uint8_t head[sizeof(start) + 8] = {0}, tail[20] = {0};
		struct file_format_sample sample = {
			.name = "emergency.pkl",
			.size = sizeof(head) + objects[i].bytes + 4,
			.head = head,
			.head_size = sizeof(head),
			.tail = tail + sizeof(tail) - objects[i].given,
			.tail_size = objects[i].given,
		};
		char why[128];

		memcpy(head, start, sizeof(start));
		for (int byte = 0; byte < 8; byte++)
			head[sizeof(start) + byte] = (uint8_t)(objects[i].bytes >> 8 * byte);
		memcpy(tail + 16, "\x94Na", 3);
		tail[19] = (uint8_t)objects[i].last;
		if (file_format_check(&sample, why, sizeof(why)) != objects[i].verdict)
			fail_msg("object %zu", i);
	}
}

/* Opcodes lie between the objects, far from both ends: they are read, and the objects are not. */
#define OBJECT (1ULL << 30)
#define OBJECTS 8

static size_t read_between(const void *file, uint64_t at, void *to, size_t size)
{
	static const uint8_t opcodes[] = {0x8e, 0, 0, 0, 0x40, 0, 0, 0, 0};
	uint8_t *bytes = to;

	(*(unsigned *)(uintptr_t)file)++;
	for (size_t i = 0; i < size; i++) {
		uint64_t within = (at + i - 2) % (OBJECT + sizeof(opcodes));

		bytes[i] = within < sizeof(opcodes) ? opcodes[within] : 0xff;
	}
	return size;
}

static void test_pickle_of_several_large_objects(void **state)
{
	static const uint8_t whole[] = {'.'}, cut[] = {0xff};
	unsigned reads = 0;
	struct file_format_sample sample = {
		.name = "emergency.pkl",
		.size = 2 + OBJECTS * (OBJECT + 9) + 1,
		.head = (const uint8_t[]){0x80, 4, 0x8e},
		.head_size = 3,
		.tail = whole,
		.tail_size = 1,
		.read = read_between,
		.file = &reads,
	};
	char why[128];

	(void)state;
	assert_int_equal(file_format_check(&sample, why, sizeof(why)), FILE_FORMAT_VALID);
	assert_int_equal(reads, OBJECTS);
	sample.tail = cut;
	assert_int_equal(file_format_check(&sample, why, sizeof(why)), FILE_FORMAT_UNKNOWN);
	/* Its last object is not all there. */
	sample.size -= 100;
	assert_int_equal(file_format_check(&sample, why, sizeof(why)), FILE_FORMAT_UNKNOWN);
}

/* Which formats are written from front to back, so that their end says that all is there. */
static void test_what_the_end_says(void **state)
{
	static const struct {
		const char *name, *head;
		size_t head_size;
		bool sparse;
		enum file_format_end end;
	} ends[] = {
		{"a.npz", "PK\3\4", 4, false, FILE_FORMAT_END_OF_ALL},
		{"a.pt", "PK\5\6", 4, true, FILE_FORMAT_END_OF_ALL},
		{"a.safetensors", "12345678{", 9, false, FILE_FORMAT_END_OF_ALL},
		{"a.safetensors", "12345678{", 9, true, FILE_FORMAT_END_UNKNOWN},
		{"a.npy", "\x93NUMPY", 6, false, FILE_FORMAT_END_OF_ONE},
		{"a.npy", "\x93NUMPY", 6, true, FILE_FORMAT_END_UNKNOWN},
		{"a.pkl", "\x80\4\x95", 3, false, FILE_FORMAT_END_OF_ONE},
		{"a.ubj", "{", 1, false, FILE_FORMAT_END_OF_ALL},
		{"a.h5", "\x89HDF\r\n\x1a\n", 8, false, FILE_FORMAT_END_UNKNOWN},
		{"trainer_state.json", "{", 1, false, FILE_FORMAT_END_UNKNOWN},
		{"a.bin", "abc", 3, false, FILE_FORMAT_END_UNKNOWN},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		const struct file_format_sample sample = {
			.name = ends[i].name,
			.head = (const uint8_t *)ends[i].head,
			.head_size = ends[i].head_size,
			.sparse = ends[i].sparse,
		};

		if (file_format_end(&sample) != ends[i].end)
			fail_msg("%s", ends[i].name);
	}
}

/* Nothing is read behind the end, not even of the largest file that there can be. */
static void test_pickle_in_the_largest_file(void **state)
{
	static const uint8_t head[] = {0x80, 2, 0xff};
	uint8_t *tail = calloc(1, 1);
	struct file_format_sample sample = {
		.name = "model.pkl",
		.size = UINT64_MAX,
		.head = head,
		.head_size = sizeof(head),
		.tail = tail,
		.tail_size = 1,
	};
	char why[128];

	(void)state;
	assert_int_equal(file_format_check(&sample, why, sizeof(why)), FILE_FORMAT_UNKNOWN);
	free(tail);
}

/* The largest header that the first bytes hold, and the smallest that they do not. */
static void test_npy_header_at_the_end_of_the_head(void **state)
{
	static const struct {
		size_t header, data;
		enum file_format_verdict verdict;
	} sizes[] = {
		{FILE_FORMAT_HEAD - 1, 24, FILE_FORMAT_VALID},
		{FILE_FORMAT_HEAD - 1, 23, FILE_FORMAT_TORN},
		{FILE_FORMAT_HEAD, 24, FILE_FORMAT_VALID},
		{FILE_FORMAT_HEAD, 23, FILE_FORMAT_TORN},
		{FILE_FORMAT_HEAD + 1, 23, FILE_FORMAT_UNKNOWN},
	};
	static const char dictionary[] = "{'descr': '<f8', 'shape': (3,), }";

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t text = sizes[i].header - 10;
		uint8_t bytes[FILE_FORMAT_HEAD + 100] = "\x93NUMPY\1";
		char why[128];

		bytes[8] = (uint8_t)text;
		bytes[9] = (uint8_t)(text >> 8);
		memset(bytes + 10, ' ', text);
		memcpy(bytes + 10, dictionary, sizeof(dictionary) - 1);
		if (judge_copy("a.npy", bytes, sizes[i].header + sizes[i].data, why) !=
		    sizes[i].verdict)
			fail_msg("%zu + %zu: %s", sizes[i].header, sizes[i].data, why);
	}
}

/* By the one list of endings (shim/checkpoint_endings.h): a state, and one that is never empty. */
static void test_names(void **state)
{
	static const struct {
		const char *path;
		bool is_checkpoint, is_filled;
	} names[] = {
		{"a/model.pt", true, true},  {"checkpoint.pth.tar", true, true},
		{"last.pt.gz", true, true},  {"net.t7", true, false},
		{"step-1.bin", true, false}, {"rl_model_100_steps.zip", true, false},
		{"data.tar", true, false},   {"data.tar.gz", true, false},
		{"curve.npy", false, true},  {"train.csv.gz", false, false},
		{"train.csv", false, false}, {"a.pt/log", false, false},
		{"a/.pt", false, false},     {"", false, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct file_format_sample empty = {.name = names[i].path};
		char why[128];

		if (file_format_is_checkpoint_name(names[i].path) != names[i].is_checkpoint ||
		    (file_format_check(&empty, why, sizeof(why)) == FILE_FORMAT_TORN) !=
			    names[i].is_filled)
			fail_msg("%s", names[i].path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_files_of_the_libraries),
		cmocka_unit_test(test_several_arrays),
		cmocka_unit_test(test_an_end_record_of_another),
		cmocka_unit_test(test_hdf5_left_open),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_bounded),
		cmocka_unit_test(test_pickle_of_large_objects),
		cmocka_unit_test(test_pickle_of_several_large_objects),
		cmocka_unit_test(test_what_the_end_says),
		cmocka_unit_test(test_pickle_in_the_largest_file),
		cmocka_unit_test(test_npy_header_at_the_end_of_the_head),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
