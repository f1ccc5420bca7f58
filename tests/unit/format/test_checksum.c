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
	/* xxHash, cli/xsum_sanity_check.c: XXH3_128bits without a seed. */
	static const struct {
		size_t size;
		uint64_t low, high;
	} rows[] = {
		{0, 0x6001c324468d497f, 0x99aa06d3014798d8},
		{1, 0xc44bdff4074eecdb, 0xa6cd5e9392000f6a},
		{6, 0x3e7039bdda43cfc6, 0x082afe0b8162d12a},
		{12, 0x061a192713f69ad9, 0x6e3efd8fc7802b18},
		{24, 0x1e7044d28b1b901d, 0x0ce966e4678d3761},
		{48, 0xf942219aed80f67b, 0xa002ac4e5478227e},
		{403, 0xcdeb804d65c6dea4, 0x1b6de21e332dd73d},
		{512, 0x617e49599013cb6b, 0x18d2d110dcc9bca1},
		{2048, 0xdd59e2c3a5f038e0, 0xf736557fd47073a5},
	};
	struct checksum_stream *stream = checksum_stream_new();
	uint8_t data[2048];

	(void)state;
	fill(data, sizeof(data));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fingerprint is;

		checksum_stream_begin(stream);
		checksum_stream_add(stream, data, rows[i].size);
		is = checksum_stream_end(stream);
		if (checksum_bytes(data, rows[i].size) != rows[i].low || is.low != rows[i].low ||
		    is.high != rows[i].high)
			fail_msg("%zu bytes: %llx", rows[i].size, (unsigned long long)is.low);
	}
	checksum_stream_free(stream);
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
		assert_true(checksum_stream_end(stream).low == checksum_bytes(data, sizeof(data)));
	}
	checksum_stream_free(stream);
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

		assert_true(XXH128_isEqual(library->bytes(from, sizes[i]),
					   other->bytes(from, sizes[i])));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_published_values),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_every_code_gives_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
