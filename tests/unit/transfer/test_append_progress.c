/* How far a growing file has been sent. */
#include "storage/transfer/chunk_index.h"

#include "unit.h"

static struct file_stamp stamp(ino_t inode, uint64_t chunks)
{
	return (struct file_stamp){.device = 1, .inode = inode, .size = chunks * CHUNK_SIZE + 1};
}

/* Steps of the life of a file: each row goes on from the one before. */
static void test_what_is_new(void **state)
{
	static const struct {
		const char *name;
		uint64_t chunks; /* whole ones that are there */
		bool some;
		size_t first;
	} rows[] = {
		{"empty", 0, false, 0},
		{"the first one", 1, true, 0},
		{"nothing new", 1, false, 1},
		{"more", 4, true, 1},
		{"one more", 5, true, 4},
		{"truncated, and begun anew", 2, true, 0},
		{"truncated to nothing", 0, false, 0},
	};
	struct append_progress growth = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct file_stamp now = stamp(7, rows[i].chunks);
		size_t first, end;
		bool some = append_progress_next(&growth, &now, &first, &end);

		if (some != rows[i].some || first != rows[i].first || end != rows[i].chunks)
			fail_msg("%s: %d, from %zu to %zu", rows[i].name, some, first, end);
		if (some)
			append_progress_set(&growth, &now, end);
	}
}

/* What was sent is looked at once more, as long as some of it is not as it was. */
static void test_what_is_looked_at_again(void **state)
{
	static const struct {
		const char *name;
		uint64_t chunks; /* whole ones that are there */
		size_t settled;
		size_t same; /* looked at again: as they were, and then a changed one */
		bool changed;
	} rows[] = {
		{"nothing was sent", 4, 0, 0, false}, {"the first ones", 8, 0, 3, true},
		{"the next ones", 12, 4, 4, false},   {"further", 24, 8, 11, false},
		{"15 in a row", 28, 12, 0, false},    {"16 in a row", 32, 24, 1, false},
		{"no more", 36, 32, 0, false},        {"begun anew", 3, 36, 0, false},
		{"of the new one", 9, 3, 0, false},
	};
	struct append_progress growth = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct file_stamp now = stamp(7, rows[i].chunks);
		size_t first, end, settled = append_progress_settled(&growth, &now);

		assert_true(append_progress_next(&growth, &now, &first, &end));
		if (settled != rows[i].settled)
			fail_msg("%s: from %zu on", rows[i].name, settled);
		for (size_t j = 0; j < rows[i].same; j++)
			append_progress_note(&growth, true);
		if (rows[i].changed)
			append_progress_note(&growth, false);
		append_progress_set(&growth, &now, end);
	}
}

/* Of all files together: eight that grow side by side are sent as soon as one would be. */
static void test_what_is_due(void **state)
{
	(void)state;
	assert_false(append_progress_is_due(0));
	assert_false(append_progress_is_due(APPEND_PROGRESS_STEP - 1));
	assert_true(append_progress_is_due(APPEND_PROGRESS_STEP));
	assert_true(append_progress_is_due(APPEND_PROGRESS_STEP + 1));
}

static void test_many_files(void **state)
{
	struct append_progress growth = {0};

	(void)state;
	for (size_t i = 1; i <= APPEND_PROGRESS_FILES + 1; i++) {
		struct file_stamp file = stamp(i, 100);

		append_progress_set(&growth, &file, i);
		append_progress_set(&growth, &file, 2 * i);
	}
	for (size_t i = 1; i <= APPEND_PROGRESS_FILES + 1; i++) {
		struct file_stamp file = stamp(i, 100);

		/* The first has made room for the last. */
		assert_int_equal(append_progress_sent(&growth, &file), i == 1 ? 0 : 2 * i);
		append_progress_set(&growth, &file, 0);
		assert_int_equal(append_progress_sent(&growth, &file), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_new),
		cmocka_unit_test(test_what_is_looked_at_again),
		cmocka_unit_test(test_what_is_due),
		cmocka_unit_test(test_many_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
