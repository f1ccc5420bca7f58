/* CRC-32C by known answers (RFC 3720, B.4), and by one that does it bit by bit. */
#include "storage/http/crc32c.h"

#include "unit.h"

#include <stdlib.h>
#include <string.h>

static void test_known(void **state)
{
	uint8_t data[32];

	(void)state;
	assert_int_equal(crc32c("123456789", 9), 0xe3069283);
	memset(data, 0, sizeof(data));
	assert_int_equal(crc32c(data, sizeof(data)), 0x8a9136aa);
	memset(data, 0xff, sizeof(data));
	assert_int_equal(crc32c(data, sizeof(data)), 0x62a8ab43);
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)i;
	assert_int_equal(crc32c(data, sizeof(data)), 0x46dd794e);
	assert_int_equal(crc32c("", 0), 0);
}

static uint32_t bit_by_bit(const uint8_t *data, size_t size)
{
	uint32_t crc = ~0u;

	while (size--) {
		crc ^= *data++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
	}
	return ~crc;
}

static void test_lengths(void **state)
{
	uint8_t data[100];

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 37 + 11);
	for (size_t from = 0; from < 9; from++)
		for (size_t size = 0; from + size <= sizeof(data); size++) {
			assert_int_equal(crc32c(data + from, size), bit_by_bit(data + from, size));
			assert_int_equal(crc32c_by_table(data + from, size),
					 bit_by_bit(data + from, size));
		}
}

static void test_text(void **state)
{
	char text[CRC32C_TEXT];

	(void)state;
	assert_string_equal(crc32c_text(0xe3069283, text), "4waSgw==");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
