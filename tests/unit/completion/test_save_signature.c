/* What two saves of one job have in common. */
#include "completion/save_signature.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void numbers_do_not_count(void **state)
{
	(void)state;
	assert_int_equal(save_signature_of_path("step_9/state.json"),
			 save_signature_of_path("step_10/state.json"));
	assert_int_equal(save_signature_of_path("model-00001-of-00002.bin"),
			 save_signature_of_path("model-2-of-2.bin"));
	assert_int_not_equal(save_signature_of_path("step_9/state.json"),
			     save_signature_of_path("step_9/weights.bin"));
	assert_int_not_equal(save_signature_of_path("a"), save_signature_of_path("a1"));
	assert_int_not_equal(save_signature_of_path(""), 0);
}

static void write_files(struct detector *detector, const char *const *paths, int64_t now_ms)
{
	for (; *paths; paths++) {
		struct dir_event event = {.change = DIR_CREATED, .path = *paths};

		detector_handle_kernel(detector, &event, now_ms);
		event.change = DIR_CLOSED_WRITE;
		detector_handle_kernel(detector, &event, now_ms);
	}
}

static uint64_t shape_after(const char *const *paths)
{
	struct detector detector;
	uint64_t shape;

	detector_init(&detector, 100);
	assert_int_equal(save_signature_of(&detector), 0);
	write_files(&detector, paths, 1);
	shape = save_signature_of(&detector);
	detector_release(&detector);
	return shape;
}

static void a_save_that_was_broken_off_has_another(void **state)
{
	const char *const whole[] = {"step_1/state.json", "step_1/weights.bin", NULL};
	const char *const next[] = {"step_20/weights.bin", "step_20/state.json", NULL};
	const char *const half[] = {"step_20/state.json", NULL};
	const char *const shards[] = {"1/model-1.bin", "1/model-2.bin", "1/model-3.bin", NULL};
	const char *const fewer[] = {"2/model-1.bin", "2/model-2.bin", NULL};

	(void)state;
	assert_int_equal(shape_after(whole), shape_after(next));
	assert_int_not_equal(shape_after(whole), shape_after(half));
	assert_int_not_equal(shape_after(shards), shape_after(fewer));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_do_not_count),
		cmocka_unit_test(a_save_that_was_broken_off_has_another),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
