/* XXH3 as published, the same in pieces. */
#include "storage/format/checksum.h"
#include "storage/format/xxh3_code.h"

#include "unit.h"

#include <string.h>

/* The bytes of xxHash's own sanity test. */
static void fill(uint8_t *data, size_t size)
{
	uint64_t generator = 2654435761u;

	for (size_t i = 0; i < size; i++) {
		data[i] = (uint8_t)(generator >> 56);
		generator *= 11400714785074694797u;
	}
}

static void test_published_values(void **state)
{
	/* xxHash, cli/xsum_sanity_check.c: XXH3_64bits without a seed. */
	static const struct {
		size_t size;
		uint64_t checksum;
	} rows[] = {
		{0, 0x2d06800538d394c2},   {1, 0xc44bdff4074eecdb},    {6, 0x27b56a84cd2d7325},
		{12, 0xa713daf0dfbb77e7},  {24, 0xa3fe70bf9d3510eb},   {48, 0x397da259ecba1f11},
		{80, 0xbcdefbbb2c47c90a},  {195, 0xcd94217ee362ec3a},  {403, 0xcdeb804d65c6dea4},
		{512, 0x617e49599013cb6b}, {2048, 0xdd59e2c3a5f038e0},
	};
	uint8_t data[2048];

	(void)state;
	fill(data, sizeof(data));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (checksum_bytes(data, rows[i].size) != rows[i].checksum)
			fail_msg("%zu bytes: %llx", rows[i].size,
				 (unsigned long long)checksum_bytes(data, rows[i].size));
}

static void test_pieces(void **state)
{
	static uint8_t data[100000];
	struct checksum_stream *stream = checksum_stream_new();

	(void)state;
	fill(data, sizeof(data));
	for (size_t piece = 1; piece < sizeof(data); piece = piece * 3 + 1) {
		checksum_stream_begin(stream);
		for (size_t at = 0; at < sizeof(data); at += piece)
			checksum_stream_add(stream, data + at,
					    sizeof(data) - at < piece ? sizeof(data) - at : piece);
		assert_true(checksum_stream_end(stream) == checksum_bytes(data, sizeof(data)));
	}
	checksum_stream_free(stream);
}

/* In two pieces, the first of so many bytes. */
static bool has_fingerprint(const struct fingerprint *expected, const uint8_t *data, size_t size,
			    uint64_t seed, size_t piece, struct fingerprint *found)
{
	struct checksum_stream *stream = checksum_stream_new();

	fingerprint_stream_begin(stream, seed);
	fingerprint_stream_add(stream, data, piece);
	fingerprint_stream_add(stream, data + piece, size - piece);
	*found = fingerprint_stream_end(stream);
	checksum_stream_free(stream);
	return expected && fingerprint_equal(expected, found);
}

static void test_fingerprints(void **state)
{
	static const struct fingerprint none;
	static uint8_t data[1000];
	struct fingerprint first, found;

	(void)state;
	fill(data, sizeof(data));
	has_fingerprint(NULL, data, 1000, 1, 0, &first);
	assert_true(fingerprint_is_known(&first) && !fingerprint_is_known(&none));
	for (size_t piece = 0; piece <= 1000; piece++)
		assert_true(has_fingerprint(&first, data, 1000, 1, piece, &found));
	assert_false(has_fingerprint(&first, data, 999, 1, 0, &found));
	assert_false(has_fingerprint(&first, data, 1000, 2, 0, &found));
	data[999] ^= 1;
	assert_false(has_fingerprint(&first, data, 1000, 1, 0, &found));
}

/* The code for this processor and the library's must be one function: what one machine has saved,
 * another one checks. */
static void test_every_code_gives_the_same(void **state)
{
	static const size_t sizes[] = {0, 1, 3, 8, 16, 17, 128, 129, 240, 241, 256, 1024, 99999};
	static uint8_t data[100000];
	const struct xxh3_code *other = xxh3_code(), *library = &xxh3_library;

	(void)state;
	fill(data, sizeof(data));
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		/* Also from an odd place. */
		const uint8_t *from = data + 1;

		assert_true(library->bytes64(from, sizes[i]) == other->bytes64(from, sizes[i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_published_values),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_fingerprints),
		cmocka_unit_test(test_every_code_gives_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
