/* When weights are compressed: where more is queued than the coder takes; and that they come back.
 */
#include "effort.h"
#include "storage_fixture.h"

#include "base/clock.h"
#include "storage/format/chunk.h"
#include "storage/records/storage_handle.h"

static void test_whether_it_pays(void **state)
{
	static const struct {
		const char *name;
		enum weights_policy policy;
		bool remote;
		int64_t slack_ms;
		bool pays;
	} rows[] = {
		{"nothing is known", WEIGHTS_AUTO, true, 0, false},
		{"a pack on 100 MB/s", WEIGHTS_AUTO, true, 80, true},
		{"two on 500 MB/s", WEIGHTS_AUTO, true, 32, false},
		{"a file store", WEIGHTS_AUTO, false, 80, false},
		{"always, unasked", WEIGHTS_ALWAYS, false, 0, true},
		{"never, though it would", WEIGHTS_NEVER, true, 80, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (weights_pay(rows[i].policy, rows[i].remote, rows[i].slack_ms) != rows[i].pays)
			fail_msg("%s", rows[i].name);
}

/* bf16: the low byte is noise, the high one an exponent of few values. */
static void write_weights(struct fixture *fixture, size_t size)
{
	auto_free char *path = text_format("%s/weights", fixture->source);
	auto_free uint8_t *data = memory_new(size);
	uint32_t word = 1;

	for (size_t i = 0; i < size; i++) {
		word = word * 1664525 + 1013904223;
		data[i] = (uint8_t)(i % 2 ? 0x3b + (uint32_t)__builtin_clz(word | 1) / 2
					  : word >> 24);
	}
	assert_works(file_write(path, data, size, &err));
}

static void test_weights_go_and_come_back(void **state)
{
	static const struct {
		const char *policy;
		unsigned percent_least, percent_most;
	} rows[] = {{"never", 100, 101}, {"always", 50, 75}, {"auto", 50, 75}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t size = 2 * CHUNK_SIZE + 100001;
		struct save_result result;
		struct fixture fixture;

		setenv("REPRIEVE_STORE_WEIGHTS", rows[i].policy, 1);
		fixture_start(&fixture);
		write_weights(&fixture, size);
		fixture.storage->transfer.remote = true;
		/* The limit holds the first pack back for longer than valgrind needs to read it. */
		if (strcmp(rows[i].policy, "auto") == 0)
			fixture.storage->transfer.rate =
				(struct rate_limit){1 << 30, clock_monotonic_ms() +
								     effort_count("ms of the limit",
										  4000, 20000)};
		assert_works(fixture_try_take(&fixture, &result));
		assert_in_range(result.bytes_sent * 100 / size, rows[i].percent_least,
				rows[i].percent_most);
		fixture_check(&fixture,
			      (struct snapshot_id){fixture.attempt.number, fixture.sequence});
		assert_int_equal(fixture_damages(&fixture), 0);
		fixture_stop(&fixture);
	}
	unsetenv("REPRIEVE_STORE_WEIGHTS");
}

static void test_a_word_that_is_none(void **state)
{
	struct storage_options options = {.url = "file:///tmp/nowhere", .job = "j"};
	struct storage *storage = NULL;

	(void)state;
	setenv("REPRIEVE_STORE_WEIGHTS", "zip", 1);
	assert_fails(storage_open(&options, &storage, NULL, &err), ERR_INVALID);
	unsetenv("REPRIEVE_STORE_WEIGHTS");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whether_it_pays),
		cmocka_unit_test(test_weights_go_and_come_back),
		cmocka_unit_test(test_a_word_that_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
