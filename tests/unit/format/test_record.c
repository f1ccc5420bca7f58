/* The envelope: round trip, and every single damage seen. */
#include "storage/format/record.h"

#include "base/cleanup.h"
#include "base/json.h"

#include "unit.h"

#include <stdlib.h>
#include <string.h>

static void encode(struct bytes *record)
{
	auto_json json_t *body = json_pack("{s:i, s:s}", "attempt", 3, "host", "node\n1");
	struct err err = {0};

	assert_int_equal(record_encode(RECORD_END, body, record, &err), 0);
}

static void test_round_trip(void **state)
{
	auto_(bytes_release) struct bytes record = {0};
	auto_json json_t *body = NULL;
	struct err err = {0};

	(void)state;
	encode(&record);
	assert_int_equal(record_decode(RECORD_END, record.data, record.size, &body, &err), 0);
	assert_int_equal(json_number_or(body, "attempt", 0), 3);
	assert_string_equal(json_text_or(body, "host", ""), "node\n1");
}

static void test_any_flipped_bit_is_seen(void **state)
{
	auto_(bytes_release) struct bytes record = {0};

	(void)state;
	encode(&record);
	for (size_t i = 0; i < record.size * 8; i++) {
		json_t *body = NULL;
		struct err err = {0};

		record.data[i / 8] ^= (uint8_t)(1u << (i % 8));
		if (record_decode(RECORD_END, record.data, record.size, &body, &err) == 0)
			fail_msg("bit %zu of byte %zu", i % 8, i / 8);
		/* A flip in the version's digit looks like a newer one. */
		assert_true(err.kind == ERR_CORRUPT || err.kind == ERR_VERSION);
		record.data[i / 8] ^= (uint8_t)(1u << (i % 8));
	}
}

static void test_any_truncation_is_seen(void **state)
{
	auto_(bytes_release) struct bytes record = {0};

	(void)state;
	encode(&record);
	for (size_t size = 0; size < record.size; size++) {
		json_t *body = NULL;
		struct err err = {0};

		assert_int_equal(record_decode(RECORD_END, record.data, size, &body, &err), -1);
		assert_int_equal(err.kind, ERR_CORRUPT);
	}
}

static void test_another_kind_is_refused(void **state)
{
	auto_(bytes_release) struct bytes record = {0};
	json_t *body = NULL;
	struct err err = {0};

	(void)state;
	encode(&record);
	assert_int_equal(record_decode(RECORD_SNAPSHOT, record.data, record.size, &body, &err), -1);
	assert_int_equal(err.kind, ERR_CORRUPT);
}

static void test_newer_says_what_to_do(void **state)
{
	static const char text[] =
		"{\"reprieve\":\"snapshot\",\"version\":4,\"whatever\":true}\nbinary";
	json_t *body = NULL;
	struct err err = {0};

	(void)state;
	assert_int_equal(record_decode(RECORD_SNAPSHOT, text, strlen(text), &body, &err), -1);
	assert_int_equal(err.kind, ERR_VERSION);
	assert_non_null(strstr(err.text, "upgrade"));
}

static void test_older_says_what_to_do(void **state)
{
	static const char text[] = "{\"reprieve\":\"format\",\"version\":2,\"whatever\":true}\n{}";
	json_t *body = NULL;
	struct err err = {0};

	(void)state;
	assert_int_equal(record_decode(RECORD_FORMAT, text, strlen(text), &body, &err), -1);
	assert_int_equal(err.kind, ERR_VERSION);
	assert_non_null(strstr(err.text, "older Reprieve"));
	assert_non_null(strstr(err.text, "another store"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_any_flipped_bit_is_seen),
		cmocka_unit_test(test_any_truncation_is_seen),
		cmocka_unit_test(test_another_kind_is_refused),
		cmocka_unit_test(test_newer_says_what_to_do),
		cmocka_unit_test(test_older_says_what_to_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
