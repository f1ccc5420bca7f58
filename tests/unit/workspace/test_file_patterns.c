/* What a file is: the names that are known, and the user's patterns. */
#include "workspace/file_patterns.h"

#include <string.h>

#include "unit.h"

#define ORDINARY FILE_KIND_ORDINARY
#define RUNNING FILE_KIND_RUNNING
#define EXCLUDED FILE_KIND_EXCLUDED

static void test_names_that_are_known(void **state)
{
	static const struct {
		const char *path;
		enum file_kind kind;
	} rows[] = {
		{"metrics.csv", RUNNING},
		{"run/1/metrics.csv", RUNNING},
		{"learn_error.tsv", RUNNING},
		{"metrics.jsonl", RUNNING},
		{"loss.ndjson", RUNNING},
		{"train.log", RUNNING},
		{"20240101_120000.log.json", RUNNING},
		{"log.txt", RUNNING},
		{"loss_log.txt", RUNNING},
		{"run/train-log.txt", RUNNING},
		{"changelog.txt", ORDINARY},
		{"log_state.txt", ORDINARY},
		{"nohup.out", RUNNING},
		{"slurm-12.err", RUNNING},
		{"events.out.tfevents.1767.host.1.0", RUNNING},
		{"tb/events.out.tfevents.1767", RUNNING},
		{"catboost/test.tfevents", RUNNING},
		{"wandb/offline-run-1/run-x.wandb", RUNNING},
		{"journal.log.lock", EXCLUDED},
		{"study/journal.log.lock", EXCLUDED},
		{"journal.log.lock0a5c-77.rename", EXCLUDED},
		{"run.lck", EXCLUDED},
		{"step-5.lock/weights.bin", ORDINARY},
		{"lock", ORDINARY},
		{"last.pt", ORDINARY},
		{"checkpoint-5/trainer_state.json", ORDINARY},
		{"run.csv/step-5.pt", ORDINARY},
		{"metrics.csv.gz", ORDINARY},
		{"METRICS.CSV", ORDINARY},
		{"study.db", ORDINARY},
		{"config.yaml", ORDINARY},
		{"wandb/config.yaml", ORDINARY},
		{".git/objects/86/3f2a9b1c7d", RUNNING},
		{"model/.git/HEAD", RUNNING},
		{".git/index.lock", EXCLUDED},
		{".gitignore", ORDINARY},
		{"catalog", ORDINARY},
		{"", ORDINARY},
	};
	static const struct file_patterns none;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (file_patterns_kind(NULL, rows[i].path) != rows[i].kind ||
		    file_patterns_kind(&none, rows[i].path) != rows[i].kind)
			fail_msg("%s", rows[i].path);
		assert_null(file_patterns_match(NULL, rows[i].path));
		assert_null(file_patterns_match(&none, rows[i].path));
	}
}

static void test_patterns(void **state)
{
	static const struct {
		const char *running, *exclude, *include, *path;
		enum file_kind kind;
		const char *match;
	} rows[] = {
		{"*.npy", NULL, NULL, "replay.npy", RUNNING, "*.npy"},
		{"*.npy", NULL, NULL, "a/b/replay.npy", RUNNING, "*.npy"},
		{"*.npy", NULL, NULL, "replay.npz", ORDINARY, NULL},
		{NULL, "wandb", NULL, "wandb/run/x.bin", EXCLUDED, "wandb"},
		{NULL, "wandb", NULL, "a/wandb/x.bin", EXCLUDED, "wandb"},
		{NULL, "wandb", NULL, "wandb", EXCLUDED, "wandb"},
		{NULL, "wandb", NULL, "wandb2/x", ORDINARY, NULL},
		{NULL, "wandb", NULL, "Wandb/x", ORDINARY, NULL},
		{NULL, "wandb/", NULL, "wandb/x", EXCLUDED, "wandb"},
		{NULL, "./run/wandb/", NULL, "run/wandb/x/y", EXCLUDED, "run/wandb"},
		{NULL, "run/wandb", NULL, "a/run/wandb/x", ORDINARY, NULL},
		{NULL, "run/*.bin", NULL, "run/x.bin", EXCLUDED, "run/*.bin"},
		{NULL, "run/*.bin", NULL, "x.bin", ORDINARY, NULL},
		{NULL, "run/?.bin", NULL, "run/xy.bin", ORDINARY, NULL},
		{NULL, "step-[12]0", NULL, "step-20/x", EXCLUDED, "step-[12]0"},
		{NULL, "*.tmp,cache", NULL, "x.tmp", EXCLUDED, "*.tmp"},
		{NULL, "*.tmp,cache", NULL, "cache/x", EXCLUDED, "cache"},
		{NULL, "*", NULL, ".hidden", EXCLUDED, "*"},
		{NULL, NULL, "weights.csv", "weights.csv", ORDINARY, "weights.csv"},
		{NULL, NULL, "weights.csv", "metrics.csv", RUNNING, NULL},
		/* Include wins over exclude, which wins over running. */
		{NULL, "*.csv", NULL, "metrics.csv", EXCLUDED, "*.csv"},
		{"*.pt", "best.pt", NULL, "best.pt", EXCLUDED, "best.pt"},
		{"*.pt", "best.pt", NULL, "last.pt", RUNNING, "*.pt"},
		{NULL, "logs", "*.pt", "logs/last.pt", ORDINARY, "*.pt"},
		{NULL, "logs", "*.pt", "logs/last.txt", EXCLUDED, "logs"},
		{"*", NULL, "*.pt", "last.pt", ORDINARY, "*.pt"},
		{"*", "*", "*", "last.pt", ORDINARY, "*"},
		{NULL, "caf\xe9", NULL, "caf\xe9/x", EXCLUDED, "caf\xe9"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct file_patterns patterns = {0};
		const char *match;

		if (rows[i].running)
			file_patterns_add(&patterns.running, rows[i].running, NULL);
		if (rows[i].exclude)
			file_patterns_add(&patterns.exclude, rows[i].exclude, NULL);
		if (rows[i].include)
			file_patterns_add(&patterns.include, rows[i].include, NULL);
		match = file_patterns_match(&patterns, rows[i].path);
		if (file_patterns_kind(&patterns, rows[i].path) != rows[i].kind)
			fail_msg("row %zu: %s is not of that kind", i, rows[i].path);
		if (!match != !rows[i].match || (match && strcmp(match, rows[i].match) != 0))
			fail_msg("row %zu: %s: pattern %s", i, rows[i].path, match ? match : "");
		if (match)
			assert_ptr_equal(match, file_patterns_match(&patterns, rows[i].path));
		file_patterns_release(&patterns);
	}
}

static void test_refusals(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{"", "is empty"},
		{"./", "is empty"},
		{"a,,b", "is empty"},
		{"a,", "is empty"},
		{"/tmp/x", "relative to the checkpoint directory"},
		{"/", "relative to the checkpoint directory"},
		{"*.csv,/x", "invalid pattern '/x'"},
		{"..", "leads out"},
		{"../x", "leads out"},
		{"a/../b", "leads out"},
		{"a/..", "leads out"},
	};
	static const char *const allowed[] = {"..a", "a..", "a..b/c", "...", "a/...", "a b"};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct file_patterns patterns = {0};
		struct err err;

		assert_int_equal(file_patterns_add(&patterns.exclude, rows[i].text, &err), -1);
		assert_int_equal(err.kind, ERR_INVALID);
		if (!strstr(err.text, rows[i].says))
			fail_msg("'%s': '%s'", rows[i].text, err.text);
		file_patterns_release(&patterns);
	}
	for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++) {
		struct file_patterns patterns = {0};

		assert_int_equal(file_patterns_add(&patterns.include, allowed[i], NULL), 0);
		file_patterns_release(&patterns);
	}
}

/* Only what the known names take is looked at again: whether it is a lock. */
static void test_names_of_locks(void **state)
{
	static const struct {
		const char *exclude, *include, *path, *name;
	} rows[] = {
		{NULL, NULL, "study/journal.log.lock", "*.lock"},
		{NULL, NULL, "run.lck", "*.lck"},
		{NULL, NULL, "uv.lock", "*.lock"},
		{NULL, NULL, "step-5.lock/weights.bin", NULL},
		{NULL, NULL, "last.pt", NULL},
		{"uv.*", NULL, "uv.lock", NULL},
		{NULL, "uv.lock", "uv.lock", NULL},
		{"*.tmp", "*.pt", "uv.lock", "*.lock"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct file_patterns patterns = {0};
		const char *name;

		if (rows[i].exclude)
			assert_int_equal(file_patterns_add(&patterns.exclude, rows[i].exclude,
							   NULL),
					 0);
		if (rows[i].include)
			assert_int_equal(file_patterns_add(&patterns.include, rows[i].include,
							   NULL),
					 0);
		name = file_patterns_lock_name(&patterns, rows[i].path);
		if (rows[i].name)
			assert_string_equal(name, rows[i].name);
		else
			assert_null(name);
		file_patterns_release(&patterns);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_of_locks),
		cmocka_unit_test(test_names_that_are_known),
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
