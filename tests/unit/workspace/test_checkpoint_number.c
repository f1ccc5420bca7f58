#include "workspace/checkpoint_number.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_table(void **state)
{
	static const struct {
		const char *path;
		int64_t step;
	} rows[] = {
		{"step_120.npz", 120},
		{"step-000120.pt", 120},
		{"checkpoint-500/model-00001-of-00002.safetensors", 500},
		{"epoch=3-step=1200.ckpt", 1200},
		{"global_step500/mp_rank_00_model_states.pt", 500},
		{"iter_0000123/.metadata", 123},
		{"ckpt-7.index", 7},
		{"model.120", 120},
		{"model_v2.pt2", 2},
		{"latest", -1},
		{"last.ckpt", -1},
		{"", -1},
		{"run/400/weights.h5", 400},
		{"99999999999999999999", -1},
		{"stepping/17.bin", 17},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (step_of_path(rows[i].path) != rows[i].step)
			fail_msg("%s: %lld, not %lld", rows[i].path,
				 (long long)step_of_path(rows[i].path), (long long)rows[i].step);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_table)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
