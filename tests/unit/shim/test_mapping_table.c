#include "shim/mapping_table.h"

#include "unit.h"

static const void *at(uintptr_t place)
{
	return (const void *)place; /* NOLINT(performance-no-int-to-ptr): never looked into */
}

static int set_up(void **state)
{
	(void)state;
	mapping_table_clear();
	return 0;
}

static void test_goes_with_its_last_part(void **state)
{
	int number = mapping_table_add(at(0x1000), 0x4000);

	(void)state;
	assert_true(number >= 0);
	assert_int_equal(mapping_table_remove(at(0x2000), 0x1000), MAPPING_NONE);
	assert_int_equal(mapping_table_count, 2);
	/* The hole is somebody else's by now. */
	assert_int_equal(mapping_table_remove(at(0x2000), 0x1000), MAPPING_NONE);
	assert_int_equal(mapping_table_remove(at(0x0), 0x2000), MAPPING_NONE);
	assert_int_equal(mapping_table_remove(at(0x5000), 0x1000), MAPPING_NONE);
	assert_int_equal(mapping_table_remove(at(0x4000), 0x1000), MAPPING_NONE);
	assert_int_equal(mapping_table_remove(at(0x3000), 0x1000), number);
	assert_int_equal(mapping_table_count, 0);
}

static void test_two_at_once_come_one_by_one(void **state)
{
	int first = mapping_table_add(at(0x1000), 0x1000),
	    second = mapping_table_add(at(0x2000), 0x1000);

	(void)state;
	assert_int_not_equal(first, second);
	assert_int_equal(mapping_table_remove(at(0), 0x10000) +
				 mapping_table_remove(at(0), 0x10000),
			 first + second);
	assert_int_equal(mapping_table_remove(at(0), 0x10000), MAPPING_NONE);
}

static void test_the_same_file_twice_has_two_numbers(void **state)
{
	int first = mapping_table_add(at(0x1000), 0x1000),
	    second = mapping_table_add(at(0x8000), 0x1000);

	(void)state;
	assert_int_equal(mapping_table_remove(at(0x1000), 0x1000), first);
	/* A free number may be given again; one that is in use may not. */
	assert_int_not_equal(mapping_table_add(at(0x1000), 0x1000), second);
}

static void test_moves(void **state)
{
	int number = mapping_table_add(at(0x1000), 0x1000);

	(void)state;
	assert_false(mapping_table_move(at(0x2000), at(0x9000), 0x1000));
	assert_true(mapping_table_move(at(0x1000), at(0x9000), 0x3000));
	assert_int_equal(mapping_table_remove(at(0x1000), 0x1000), MAPPING_NONE);
	assert_int_equal(mapping_table_remove(at(0x9000), 0x3000), number);
}

static void test_full(void **state)
{
	(void)state;
	for (uintptr_t i = 0; i < MAPPING_TABLE_MOST; i++)
		assert_true(mapping_table_add(at(0x10000 * (i + 1)), 0x4000) >= 0);
	assert_int_equal(mapping_table_add(at(0x1000), 0x1000), MAPPING_NONE);
	assert_int_equal(mapping_table_add(at(0x1000), 0), MAPPING_NONE);
	/* No room for the second half of one with a hole: the first stands for it. */
	assert_int_equal(mapping_table_remove(at(0x11000), 0x1000), MAPPING_NONE);
	assert_true(mapping_table_remove(at(0x10000), 0x1000) >= 0);
	assert_true(mapping_table_add(at(0x1000), 0x1000) >= 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_goes_with_its_last_part, set_up),
		cmocka_unit_test_setup(test_two_at_once_come_one_by_one, set_up),
		cmocka_unit_test_setup(test_the_same_file_twice_has_two_numbers, set_up),
		cmocka_unit_test_setup(test_moves, set_up),
		cmocka_unit_test_setup(test_full, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
