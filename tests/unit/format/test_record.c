/* The envelope: round trip, and every single damage seen. */
#include "storage/format/record.h"

#include "base/cleanup.h"
#include "base/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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
		"{\"reprieve\":\"snapshot\",\"version\":6,\"whatever\":true}\nbinary";
	json_t *body = NULL;
	struct err err = {0};

	(void)state;
	assert_int_equal(record_decode(RECORD_SNAPSHOT, text, strlen(text), &body, &err), -1);
	assert_int_equal(err.kind, ERR_VERSION);
	assert_non_null(strstr(err.text, "upgrade"));
}

/* Manifests and claims have risen alone: of the older ones, all kinds are read. */
static void test_versions_of_kinds(void **state)
{
	static const struct {
		enum record_kind kind;
		const char *name;
		const char *body;
		int written, newest;
	} rows[] = {
		{RECORD_SNAPSHOT, "snapshot", "{}", 3, 5},
		/* Of a gang: an older reader would take it for one directory. */
		{RECORD_SNAPSHOT, "snapshot", "{\"parts\":[]}", 4, 5},
		{RECORD_SNAPSHOT, "snapshot", "{\"parts\":[{\"gone\":false},{}]}", 4, 5},
		/* It would take it for one that has saved nothing. */
		{RECORD_SNAPSHOT, "snapshot", "{\"parts\":[{},{\"gone\":true}]}", 5, 5},
		{RECORD_ATTEMPT, "attempt", "{}", 3, 3},
		{RECORD_FORMAT, "format", "{}", 2, 2},
	};
	static const char digest[] =
		"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"; /* of {} */
	char start[64];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (int version = 2; version <= rows[i].newest + 1; version++) {
			auto_(bytes_release) struct bytes record = {0};
			auto_json json_t *body = json_loads(rows[i].body, 0, NULL), *read = NULL;
			auto_free char *text =
				text_format("{\"reprieve\":\"%s\",\"version\":%d,\"bytes\":2,"
					    "\"sha256\":\"%s\"}\n{}",
					    rows[i].name, version, digest);
			struct err err = {0};
			int result = record_decode(rows[i].kind, text, strlen(text), &read, &err);

			assert_int_equal(result, version <= rows[i].newest ? 0 : -1);
			assert_int_equal(record_encode(rows[i].kind, body, &record, &err), 0);
			snprintf(start, sizeof(start), "{\"reprieve\":\"%s\",\"version\":%d,",
				 rows[i].name, rows[i].written);
			assert_memory_equal(record.data, start, strlen(start));
		}
}

static void test_older_says_what_to_do(void **state)
{
	static const char text[] = "{\"reprieve\":\"format\",\"version\":1,\"whatever\":true}\n{}";
	json_t *body = NULL;
	struct err err = {0};

	(void)state;
	assert_int_equal(record_decode(RECORD_FORMAT, text, strlen(text), &body, &err), -1);
	assert_int_equal(err.kind, ERR_VERSION);
	assert_non_null(strstr(err.text, "older version"));
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
		cmocka_unit_test(test_versions_of_kinds),
		cmocka_unit_test(test_older_says_what_to_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
