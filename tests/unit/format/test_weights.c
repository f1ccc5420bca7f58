/* Weights come back bit by bit, whatever they are, and get smaller by what is known of them; what
 * is damaged is refused or comes back as something else, but never reaches beyond its room. */
#include "storage/format/weights.h"

#include "base/cleanup.h"
#include "base/text.h"

#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "effort.h"

#define MIB ((size_t)1 << 20)

static uint64_t seed = 88172645463325252u;

static uint32_t random_word(void)
{
	seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
	return (uint32_t)(seed >> 16);
}

/* About normally distributed: a sum of uniform numbers. */
static float random_weight(void)
{
	double sum = 0;

	for (int i = 0; i < 12; i++)
		sum += random_word() / 4294967296.0;
	return (float)((sum - 6) * 0.02);
}

/* Weights, and any bytes behind the last whole one. */
static void fill(uint8_t *data, size_t size, enum weights_width width)
{
	for (size_t i = size - size % 4; i < size; i++)
		data[i] = (uint8_t)random_word();
	for (size_t i = 0; i + 4 <= size; i += width) {
		float weight = random_weight();
		uint32_t word;

		memcpy(&word, &weight, 4);
		if (width == WEIGHTS_BF16)
			word >>= 16;
		for (size_t j = 0; j < (size_t)width; j++)
			data[i + j] = (uint8_t)(word >> 8 * j);
	}
}

static void fill_noise(uint8_t *data, size_t size)
{
	for (size_t i = 0; i < size; i++)
		data[i] = (uint8_t)random_word();
}

/* Returns the bytes that it takes, 0 if it is not worth it. In rooms of exactly that size. */
static size_t round_trip(enum weights_width width, const uint8_t *data, size_t size)
{
	auto_free uint8_t *space = memory_new(size);
	size_t packed = weights_pack(width, data, size, space);
	auto_free uint8_t *exact = memory_new(packed);
	auto_free uint8_t *back = memory_new(size);

	assert_true(packed <= size - size / 16);
	if (packed == 0)
		return 0;
	memcpy(exact, space, packed);
	assert_true(weights_unpack(width, exact, packed, back, size));
	assert_memory_equal(back, data, size);
	assert_false(weights_unpack(width, exact, packed - 1, back, size));
	assert_false(weights_unpack(width, exact, size - size / width, back, size));
	assert_false(weights_unpack(width, exact, packed, back, size - width));
	return packed;
}

static void test_gains(void **state)
{
	static const struct {
		enum weights_width width;
		unsigned percent_most;
	} rows[] = {{WEIGHTS_FP32, 85}, {WEIGHTS_BF16, 69}};
	auto_free uint8_t *data = memory_new(MIB);
	auto_free uint8_t *space = memory_new(MIB);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t packed;

		fill(data, MIB, rows[i].width);
		assert_int_equal(weights_detect(data, MIB, space), rows[i].width);
		packed = round_trip(rows[i].width, data, MIB);
		if (packed == 0 || packed * 100 > MIB * rows[i].percent_most)
			fail_msg("%u bytes a number: %zu of %zu", rows[i].width, packed, MIB);
	}
	fill_noise(data, MIB);
	assert_int_equal(weights_detect(data, MIB, space), WEIGHTS_NONE);
	assert_int_equal(round_trip(WEIGHTS_FP32, data, MIB), 0);
	assert_int_equal(round_trip(WEIGHTS_BF16, data, MIB), 0);
}

/* Every size near what matters: none, odd bytes at the end, ends of blocks. */
static void test_sizes(void **state)
{
	static const size_t around[] = {0, 64, 128, 256, 2048, 4096, 8192, 100000};
	auto_free uint8_t *data = memory_new(MIB);
	auto_free uint8_t *space = memory_new(MIB);
	size_t gained = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(around) / sizeof(around[0]); i++)
		for (size_t size = around[i] > 9 ? around[i] - 9 : 0; size < around[i] + 9; size++)
			for (int width = WEIGHTS_BF16; width <= WEIGHTS_FP32; width += 2) {
				fill(data, size, (enum weights_width)width);
				gained += round_trip((enum weights_width)width, data, size) > 0;
				(void)weights_detect(data, size, space);
			}
	assert_true(gained > 100);
}

/* Infinities, NaNs with a payload, zeros of both signs, numbers below the normal ones. */
static void test_any_bits_come_back(void **state)
{
	static const uint32_t words[] = {0,          0x80000000, 0x7f800000, 0xff800000,
					 0x7fc00001, 0xffffffff, 1,          0x80000001,
					 0x7f7fffff, 0x00800000};
	size_t size = 40000;
	auto_free uint8_t *data = memory_new(size);
	unsigned rounds = effort_count("rounds", 50, 5);

	(void)state;
	for (unsigned round = 0; round < rounds; round++) {
		for (size_t i = 0; i < size; i += 4)
			memcpy(data + i, &words[random_word() % 10], 4);
		for (int i = 0; i < 100; i++)
			data[random_word() % size] = (uint8_t)random_word();
		assert_true(round_trip(WEIGHTS_FP32, data, size) > 0);
		assert_true(round_trip(WEIGHTS_BF16, data, size) > 0);
	}
}

static void test_damage_stays_in_its_room(void **state)
{
	size_t size = 10001;
	auto_free uint8_t *data = memory_new(size);
	auto_free uint8_t *space = memory_new(size);
	int damaged = (int)effort_count("damaged chunks", 3000, 300);

	(void)state;
	fill(data, size, WEIGHTS_BF16);
	for (int i = 0; i < damaged; i++) {
		size_t packed = weights_pack(WEIGHTS_BF16, data, size, space);
		size_t kept = i % 5 ? packed : random_word() % packed;
		size_t raw_size = i % 2 ? size : random_word() % (2 * size);
		auto_free uint8_t *exact = memory_new(kept);
		auto_free uint8_t *back = memory_new(raw_size);

		memcpy(exact, space, kept);
		for (int j = 0; j < i % 4 && kept > 0; j++)
			exact[random_word() % kept] ^= (uint8_t)(1 << random_word() % 8);
		(void)weights_unpack(i % 3 ? WEIGHTS_BF16 : WEIGHTS_FP32, exact, kept, back,
				     raw_size);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gains),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_any_bits_come_back),
		cmocka_unit_test(test_damage_stays_in_its_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
