/* A pack describes itself: its index gives back what was put in, and no
 * damage to it goes unseen. */
#include "storage/format/pack.h"

#include "base/cleanup.h"
#include "base/text.h"

#include "unit.h"

#include <stdlib.h>
#include <string.h>

struct made {
	uint8_t *data;
	struct pack_builder builder;
	size_t size;
};

static void add(struct made *made, const char *text)
{
	struct pack_record record = {.raw = (uint32_t)strlen(text), .codec = CHUNK_RAW};
	uint8_t *room = pack_reserve(&made->builder, record.raw);

	assert_non_null(room);
	memcpy(room, text, record.raw);
	record.stored = record.raw;
	digest_sha256(text, record.raw, record.digest);
	pack_append(&made->builder, &record);
}

static int setup(void **state)
{
	struct made *made = memory_new(sizeof(*made));

	made->data = memory_new(PACK_CAPACITY);
	pack_builder_init(&made->builder, made->data);
	add(made, "first");
	add(made, "second one");
	add(made, "3");
	made->size = pack_finish(&made->builder);
	*state = made;
	return 0;
}

static int teardown(void **state)
{
	struct made *made = *state;

	pack_builder_release(&made->builder);
	free(made->data);
	free(made);
	return 0;
}

static int read_index(const uint8_t *data, size_t size, struct pack_record *records, uint32_t most,
		      uint32_t *count, struct err *err)
{
	const uint8_t *end = data + size;

	if (pack_read_footer(end - PACK_FOOTER_SIZE, size, count, err) < 0)
		return -1;
	if (*count > most)
		return err_set(err, ERR_CORRUPT, "more than the test expects");
	return pack_read_index(end - PACK_FOOTER_SIZE - *count * PACK_RECORD_SIZE, *count, size,
			       records, err);
}

static void test_index_gives_back(void **state)
{
	static const char *const texts[] = {"first", "second one", "3"};
	struct made *made = *state;
	struct pack_record records[3];
	struct err err = {0};
	uint32_t count;

	assert_int_equal(read_index(made->data, made->size, records, 3, &count, &err), 0);
	assert_int_equal(count, 3);
	for (size_t i = 0; i < 3; i++) {
		const uint8_t *raw;

		assert_int_equal(records[i].raw, strlen(texts[i]));
		assert_int_equal(chunk_unpack(records[i].codec, records[i].digest,
					      made->data + records[i].offset, records[i].stored,
					      NULL, records[i].raw, &raw, &err),
				 0);
		assert_memory_equal(raw, texts[i], records[i].raw);
	}
}

static void test_the_form_is_fixed(void **state)
{
	struct made *made = *state;
	size_t payload = strlen("first") + strlen("second one") + strlen("3");

	assert_int_equal(made->size, PACK_MAGIC_SIZE + payload + 3 * 45 + 44);
	assert_memory_equal(made->data, "RPVPACK1", 8);
	assert_memory_equal(made->data + 8, "firstsecond one3", payload);
	/* Second record: offset 13, stored 10, raw 10, little-endian. */
	assert_memory_equal(made->data + 8 + payload + 45 + 32, "\x0d\0\0\0\x0a\0\0\0\x0a\0\0\0\0",
			    13);
	assert_memory_equal(made->data + made->size - 44, "\x03\0\0\0", 4);
	assert_memory_equal(made->data + made->size - 8, "RPVPEND1", 8);
}

static void test_any_flip_in_index_or_footer_is_seen(void **state)
{
	struct made *made = *state;
	size_t start = made->size - PACK_FOOTER_SIZE - 3 * PACK_RECORD_SIZE;

	for (size_t i = start; i < made->size; i++) {
		struct pack_record records[3];
		struct err err = {0};
		uint32_t count;

		made->data[i] ^= 0x40;
		assert_int_equal(read_index(made->data, made->size, records, 3, &count, &err), -1);
		assert_int_equal(err.kind, ERR_CORRUPT);
		made->data[i] ^= 0x40;
	}
}

static void test_truncation_is_seen(void **state)
{
	struct made *made = *state;

	for (size_t size = PACK_FOOTER_SIZE; size < made->size; size++) {
		struct err err = {0};
		uint32_t count;

		assert_int_equal(pack_read_footer(made->data + size - PACK_FOOTER_SIZE, size,
						  &count, &err),
				 -1);
	}
}

static void test_full(void **state)
{
	struct made *made = *state;
	size_t chunks = 0;

	pack_begin(&made->builder);
	while (pack_reserve(&made->builder, CHUNK_SIZE)) {
		struct pack_record record = {.raw = CHUNK_SIZE, .stored = CHUNK_SIZE};

		pack_append(&made->builder, &record);
		chunks++;
	}
	assert_int_equal(chunks, PACK_TARGET / CHUNK_SIZE);
	assert_true(pack_finish(&made->builder) <= PACK_CAPACITY);

	pack_begin(&made->builder);
	for (chunks = 0; pack_reserve(&made->builder, 1); chunks++) {
		struct pack_record record = {.raw = 1, .stored = 1};

		pack_append(&made->builder, &record);
	}
	assert_int_equal(chunks, PACK_RECORDS_MOST);
	assert_true(pack_finish(&made->builder) <= PACK_CAPACITY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_index_gives_back, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_form_is_fixed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_any_flip_in_index_or_footer_is_seen, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_truncation_is_seen, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
