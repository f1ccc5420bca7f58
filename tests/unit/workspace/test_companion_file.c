/* What lies beside checkpoints, by its name alone. */
#include "workspace/file_patterns.h"

#include "unit.h"

static const struct {
	const char *path;
	bool is;
} rows[] = {
	{"args.json", true},
	{"config.yaml", true},
	{"run/config.yml", true},
	{"pyproject.toml", true},
	{"README.md", true},
	{"md.rst", false}, /* Amber and LAMMPS restart from such files */
	{"command.txt", true},
	{"rank1.log", true},
	{"eval/scores.tsv", true},
	{"all_results.json", true},
	{"ARGS.JSON", true},
	{"args.json.tmp", true},
	{"attention.png", true},
	{"samples/step_500.png", true},
	{"samples/0500.jpg", true},
	{"step-500/loss.svg", true},
	/* a word says what a text is */
	{"model_config.json", true},
	{"trainer_config.yaml", true},
	{"training_args.json", true},
	{"model.json", false},
	{"final_model/model.txt", false},
	{"trainer_state.json", false},
	{"state.yaml", false},
	{"checkpoint.json", false},
	{"last.txt", false},
	{"Last_Rank1.json", false},
	{"epoch.txt", false},
	{"rng.json", false},
	{"optimizer/params.json", false},
	{"statements.txt", true},
	/* what is saved again and again */
	{"step-500/args.json", false},
	{"checkpoint-500/config.json", false},
	{"metrics_500.json", false},
	/* other kinds */
	{"last_rank1.pt", false},
	{"last.pt.tmp", false},
	{"model.safetensors", false},
	{"rng.npy", false},
	{"data.pkl", false},
	{"metrics.bin", false},
	{"latest", false},
	{"notes", false},
	{"png", false},
	{".json", false},
	{".tmp", false},
	{"args.json.bak", false},
	{"", false},
};

static void test_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (companion_file_is(rows[i].path) != rows[i].is)
			fail_msg("%s", rows[i].path);
}

static void test_the_best_so_far(void **state)
{
	static const struct {
		const char *path;
		bool is;
	} names[] = {
		{"best.pt", true},        {"model_best.pth.tar", true},
		{"best/model.pt", true},  {"checkpoint-best-acc.bin", true},
		{"Best_Model.h5", true},  {"last.pt", false},
		{"bestiary.pt", false},   {"model.pt", false},
		{"step-5/best.pt", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (companion_file_is_best(names[i].path) != names[i].is)
			fail_msg("%s", names[i].path);
}

static void test_settings(void **state)
{
	(void)state;
	assert_true(companion_file_is_setting("args.json"));
	assert_true(companion_file_is_setting("run/config.yaml"));
	assert_true(companion_file_is_setting("train_opt.txt"));
	assert_true(companion_file_is_setting("opt.yaml"));
	assert_true(companion_file_is_setting("web/index.html"));
	assert_true(companion_file_is_setting("README.md"));
	assert_true(companion_file_is_setting("train.py"));
	assert_false(companion_file_is_setting("md.rst"));
	assert_false(companion_file_is_setting("opt_state.json"));
	assert_false(companion_file_is_setting("optimum.txt"));
	assert_false(companion_file_is_setting("train_opt.pt"));
	assert_false(companion_file_is_setting("config/scores.tsv"));
	assert_false(companion_file_is_setting("results.json"));
	assert_false(companion_file_is_setting("step-5/args.json"));
	assert_false(companion_file_is_setting("last.pt"));
}

static void test_results(void **state)
{
	static const struct {
		const char *path;
		bool is;
	} names[] = {
		{"step-500/eval_results.json", true},
		{"checkpoint-9/samples.png", true},
		{"checkpoint-9/logits.npz", true},
		{"step-5/eval/predictions.npy", true},
		{"step-5/samples.npz", false},
		{"step-5/eval_state.pkl", false},
		{"step-5/preds.pt", false},
		{"ckpt_3/metrics.csv", true},
		{"metrics_500.json", true},
		{"results/step-5/model.json", false},
		{"step-500/trainer_state.json", false},
		{"step-500/args.json", false},
		{"step-500/metrics.pt", false},
		{"step-500/evaluator.json", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (companion_file_is_result(names[i].path) != names[i].is)
			fail_msg("%s", names[i].path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_the_best_so_far),
		cmocka_unit_test(test_settings),
		cmocka_unit_test(test_results),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
