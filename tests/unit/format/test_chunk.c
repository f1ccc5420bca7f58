/* Cutting, compressing where it gains, and back; a flipped bit is seen in every codec. */
#include "storage/format/chunk.h"

#include "base/cleanup.h"
#include "base/text.h"

#include "unit.h"

#include <stdlib.h>
#include <string.h>

static void fill_random(uint8_t *data, size_t size)
{
	uint64_t word = 88172645463325252u;

	for (size_t i = 0; i < size; i++) {
		word ^= word << 13, word ^= word >> 7, word ^= word << 17;
		data[i] = (uint8_t)word;
	}
}

static void test_cutting(void **state)
{
	static const struct {
		uint64_t size;
		size_t count, last;
	} rows[] = {
		{0, 0, 0},
		{1, 1, 1},
		{CHUNK_SIZE - 1, 1, CHUNK_SIZE - 1},
		{CHUNK_SIZE, 1, CHUNK_SIZE},
		{CHUNK_SIZE + 1, 2, 1},
		{10 * CHUNK_SIZE, 10, CHUNK_SIZE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(chunk_count(rows[i].size), rows[i].count);
		if (rows[i].count)
			assert_int_equal(chunk_length(rows[i].size, rows[i].count - 1),
					 rows[i].last);
	}
}

static void test_zero_is_told_from_nearly_zero(void **state)
{
	static uint8_t data[5000];

	(void)state;
	assert_true(chunk_is_zero(data, sizeof(data)));
	assert_true(chunk_is_zero(data, 1));
	/* What lies behind it is not its own. */
	data[sizeof(data) - 1] = 1;
	assert_true(chunk_is_zero(data, sizeof(data) - 1));
	assert_false(chunk_is_zero(data, sizeof(data)));
	data[sizeof(data) - 1] = 0;
	for (size_t i = 0; i < sizeof(data); i += 499) {
		data[i] = 1;
		assert_false(chunk_is_zero(data, sizeof(data)));
		data[i] = 0;
	}
	memset(data, 7, sizeof(data));
	assert_false(chunk_is_zero(data, sizeof(data)));
}

static void check(const uint8_t *data, size_t size, enum chunk_codec expected)
{
	auto_free uint8_t *payload = memory_new(size);
	auto_free uint8_t *space = memory_new(size);
	size_t stored = chunk_compress(data, size, payload);
	enum chunk_codec codec = stored ? CHUNK_LZ4 : CHUNK_RAW;
	uint8_t digest[DIGEST_SIZE];
	const uint8_t *raw;
	struct err err = {0};

	assert_int_equal(codec, expected);
	if (!stored)
		memcpy(payload, data, stored = size);
	else
		assert_true(stored <= size - size / 16);
	digest_sha256(data, size, digest);
	assert_int_equal(chunk_unpack(codec, digest, payload, stored, space, size, &raw, &err), 0);
	assert_memory_equal(raw, data, size);
	for (size_t at = 0; at < stored; at += stored / 5 + 1) {
		payload[at] ^= 4;
		assert_int_equal(chunk_unpack(codec, digest, payload, stored, space, size, &raw,
					      &err),
				 -1);
		assert_int_equal(err.kind, ERR_CORRUPT);
		payload[at] ^= 4;
	}
	assert_int_equal(chunk_unpack(codec, digest, payload, stored - 1, space, size, &raw, &err),
			 -1);
	assert_int_equal(chunk_unpack(codec, digest, payload, stored, space, size - 1, &raw, &err),
			 -1);
}

static void test_round_trips(void **state)
{
	size_t size = CHUNK_SIZE;
	auto_free uint8_t *data = memory_new(size);

	(void)state;
	fill_random(data, size);
	check(data, size, CHUNK_RAW);
	check(data, 100, CHUNK_RAW);
	/* Half of it compresses, but not its middle: the sample says no. */
	memset(data, 'x', size / 4);
	check(data, size, CHUNK_RAW);
	memset(data, 'y', size);
	check(data, size, CHUNK_LZ4);
	check(data, 1000, CHUNK_LZ4);
	/* The middle compresses, the whole does not gain enough: the sample alone
	 * does not decide. */
	fill_random(data, size);
	memset(data + size / 2 - 40000, 0, 80000);
	check(data, size, CHUNK_RAW);
}

/* The digest decides where the checksum is not known or says no. */
static void test_matches(void **state)
{
	static const struct {
		bool checksum_known, checksum_wrong, digest_wrong, matches;
	} rows[] = {
		{true, false, false, true},  {true, true, false, true},   {true, true, true, false},
		{false, false, false, true}, {false, false, true, false},
	};
	uint8_t data[5000];

	(void)state;
	fill_random(data, sizeof(data));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct chunk chunk = {.codec = CHUNK_RAW, .stored = sizeof(data)};

		digest_sha256(data, sizeof(data), chunk.digest);
		chunk.digest[7] ^= rows[i].digest_wrong;
		if (rows[i].checksum_known)
			chunk.checksum =
				checksum_bytes(data, sizeof(data)) ^ rows[i].checksum_wrong;
		assert_int_equal(chunk_matches(&chunk, data, sizeof(data)), rows[i].matches);
	}
}

static void test_codec_names(void **state)
{
	enum chunk_codec codec;

	(void)state;
	for (int i = CHUNK_RAW; i <= CHUNK_FP32; i++) {
		assert_true(chunk_codec_parse(chunk_codec_name((enum chunk_codec)i), &codec));
		assert_int_equal(codec, i);
	}
	assert_false(chunk_codec_parse("zstd", &codec));
	assert_false(chunk_codec_parse(NULL, &codec));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cutting),
		cmocka_unit_test(test_zero_is_told_from_nearly_zero),
		cmocka_unit_test(test_round_trips),
		cmocka_unit_test(test_matches),
		cmocka_unit_test(test_codec_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
