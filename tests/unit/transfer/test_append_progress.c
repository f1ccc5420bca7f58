/* How far a growing file has been sent. */
#include "storage/transfer/append_progress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct file_stamp stamp(ino_t inode, uint64_t chunks)
{
	return (struct file_stamp){.device = 1, .inode = inode, .size = chunks * CHUNK_SIZE + 1};
}

/* Steps of the life of a file: each row goes on from the one before. */
static void test_due(void **state)
{
	static const struct {
		const char *name;
		uint64_t chunks; /* whole ones that are there */
		bool due;
		size_t first;
	} rows[] = {
		{"empty", 0, false, 0},
		{"not enough", APPEND_PROGRESS_STEP - 1, false, 0},
		{"enough", APPEND_PROGRESS_STEP, true, 0},
		{"nothing new", APPEND_PROGRESS_STEP, false, APPEND_PROGRESS_STEP},
		{"little new", 2 * APPEND_PROGRESS_STEP - 1, false, APPEND_PROGRESS_STEP},
		{"more", 2 * APPEND_PROGRESS_STEP + 3, true, APPEND_PROGRESS_STEP},
		{"truncated, and begun anew", APPEND_PROGRESS_STEP + 1, true, 0},
	};
	struct append_progress growth = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct file_stamp now = stamp(7, rows[i].chunks);
		size_t first, end;
		bool due = append_progress_next(&growth, &now, &first, &end);

		if (due != rows[i].due || first != rows[i].first || end != rows[i].chunks)
			fail_msg("%s: %d, from %zu to %zu", rows[i].name, due, first, end);
		if (due)
			append_progress_set(&growth, &now, end);
	}
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
		cmocka_unit_test(test_due),
		cmocka_unit_test(test_many_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
