/* Which directory is named for what the job saves elsewhere, by a table. */
#include "reporting/reporting.h"

#include "base/text.h"

#include "unit.h"

static void test_the_directory_that_stays(void **state)
{
	static const struct {
		const char *path, *place;
	} rows[] = {
		{"/me/job/out/step-3.pt", "/me/job/out"},
		/* Lightning, Hydra, the Trainer, DeepSpeed */
		{"/me/job/lightning_logs/version_0/checkpoints/epoch=0-step=9.ckpt",
		 "/me/job/lightning_logs"},
		{"/me/job/outputs/2026-11-30/08-48-22/model.pt", "/me/job/outputs"},
		{"/me/job/multirun/2026-11-30/08-48-22/0/model.pt", "/me/job/multirun"},
		{"/me/job/out/checkpoint-500/model.safetensors", "/me/job/out"},
		{"/me/job/out/checkpoint-500/global_step500/mp_rank_00.pt", "/me/job/out"},
		{"/me/job/out/checkpoint-500/pytorch_model/weights.bin", "/me/job/out"},
		{"/me/job/run_20261130-084822/best.pt", "/me/job/run_20261130-084822"},
		{"/me/job/20261130_084822/best.pt", "/me/job"},
		/* of an experiment, or where the user works */
		{"/me/job/resnet50/last.pt", "/me/job/resnet50"},
		{"/scratch/2026/out/last.pt", "/scratch/2026/out"},
		{"/last.pt", "/"},
	};
	static const char mine[] = "/a/2026-11-30/version_3/checkpoints";
	char place[512];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!text_equal(save_place_directory(rows[i].path, "/me/job/checkpoints", place,
						     sizeof(place)),
				rows[i].place))
			fail_msg("%s: %s", rows[i].path, place);
	assert_string_equal(save_place_directory("/a/2026-11-30/version_3/out/last.pt", mine, place,
						 sizeof(place)),
			    "/a/2026-11-30/version_3/out");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_directory_that_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
