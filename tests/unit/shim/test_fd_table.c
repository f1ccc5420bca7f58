#include "shim/fd_table.h"

#include "unit.h"

static int set_up(void **state)
{
	(void)state;
	fd_table_clear();
	return 0;
}

static void test_each_number_has_its_own_bit(void **state)
{
	static const int numbers[] = {0, 1, 31, 32, 33, 1023, 1024, FD_TABLE_MOST - 1};
	const size_t count = sizeof(numbers) / sizeof(numbers[0]);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		assert_true(fd_table_add(numbers[i]));
		for (size_t other = 0; other < count; other++)
			assert_int_equal(fd_table_has(numbers[other]), other <= i);
	}
	for (size_t i = 0; i < count; i++) {
		assert_true(fd_table_remove(numbers[i]));
		assert_false(fd_table_remove(numbers[i]));
		assert_false(fd_table_has(numbers[i]));
	}
}

static void test_numbers_out_of_range(void **state)
{
	static const int numbers[] = {-1, INT32_MIN, FD_TABLE_MOST, INT32_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		assert_false(fd_table_has(numbers[i]));
		assert_false(fd_table_add(numbers[i]));
		assert_false(fd_table_remove(numbers[i]));
		assert_false(fd_table_has(numbers[i]));
	}
	assert_int_equal(fd_table_next(0, UINT32_MAX), -1);
}

static void test_a_failed_write_is_remembered_until_the_next_file(void **state)
{
	(void)state;
	fd_table_add(33);
	fd_table_add(34);
	assert_false(fd_table_has_failed(33));
	fd_table_note_failure(33);
	assert_true(fd_table_has_failed(33));
	assert_false(fd_table_has_failed(34));
	fd_table_remove(33);
	fd_table_add(33);
	assert_false(fd_table_has_failed(33));
	fd_table_note_failure(-1);
	fd_table_note_failure(FD_TABLE_MOST);
	assert_false(fd_table_has_failed(-1));
	assert_false(fd_table_has_failed(FD_TABLE_MOST));
}

static void test_next(void **state)
{
	(void)state;
	assert_int_equal(fd_table_next(0, UINT32_MAX), -1);
	fd_table_add(5);
	fd_table_add(64);
	fd_table_add(FD_TABLE_MOST - 1);
	assert_int_equal(fd_table_next(0, UINT32_MAX), 5);
	assert_int_equal(fd_table_next(5, 5), 5);
	assert_int_equal(fd_table_next(0, 4), -1);
	assert_int_equal(fd_table_next(6, UINT32_MAX), 64);
	assert_int_equal(fd_table_next(6, 63), -1);
	assert_int_equal(fd_table_next(65, UINT32_MAX), FD_TABLE_MOST - 1);
	assert_int_equal(fd_table_next(FD_TABLE_MOST, UINT32_MAX), -1);
	assert_int_equal(fd_table_next(UINT32_MAX, UINT32_MAX), -1);
}

static void test_clear(void **state)
{
	(void)state;
	fd_table_add(3);
	fd_table_add(FD_TABLE_MOST - 1);
	fd_table_clear();
	assert_false(fd_table_has(3));
	assert_int_equal(fd_table_next(0, UINT32_MAX), -1);
	fd_table_add(40);
	assert_int_equal(fd_table_next(0, UINT32_MAX), 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_each_number_has_its_own_bit, set_up),
		cmocka_unit_test_setup(test_numbers_out_of_range, set_up),
		cmocka_unit_test_setup(test_a_failed_write_is_remembered_until_the_next_file,
				       set_up),
		cmocka_unit_test_setup(test_next, set_up),
		cmocka_unit_test_setup(test_clear, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
