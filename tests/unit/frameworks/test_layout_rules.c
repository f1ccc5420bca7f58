/*
 * Each row is a directory: its files by name, a pointer's text behind "=", files of the save that
 * is being judged behind "+". What must be told follows as "path: why", in the order of telling.
 */
#include "frameworks/frameworks.h"

#include "base/text.h"
#include "workspace/checkpoint_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define FILES 8
#define TOLD 4

static const struct row {
	const char *profile; /* NULL: none */
	const char *files[FILES];
	const char *told[TOLD];
} rows[] = {
	// clang-format off
	/* Hugging Face */
	{"hf", {"checkpoint-5/model", "checkpoint-5/trainer_state.json"}, {NULL}},
	{"hf", {"checkpoint-5/model"}, {"checkpoint-5: checkpoint-5 has no trainer_state.json"}},
	{"hf", {"out/checkpoint-5/rank/x", "out/checkpoint-5/y"},
		{"out/checkpoint-5: out/checkpoint-5 has no trainer_state.json"}},
	{"hf",
		{"checkpoint-5/checkpoint-is-incomplete.txt", "checkpoint-5/model",
			"checkpoint-5/trainer_state.json"},
		{"checkpoint-5: checkpoint-5 still holds checkpoint-is-incomplete.txt"}},
	{NULL, {"checkpoint-5/checkpoint-is-incomplete.txt"},
		{"checkpoint-5: checkpoint-5 still holds checkpoint-is-incomplete.txt"}},
	{NULL, {"checkpoint-5/model"}, {NULL}},
	{"hf", {"checkpoint-best/model", "model.safetensors", "runs/x"}, {NULL}},
	{"hf", {"tmp-checkpoint-5/model"}, {NULL}},
	/* DCP, anywhere */
	{"dcp", {"step-5/.metadata", "step-5/__0_0.distcp"}, {NULL}},
	{NULL, {"step-5/__0_0.distcp", "step-5/__1_0.distcp"},
		{"step-5: step-5/__0_0.distcp has no .metadata with it"}},
	{"torch", {"step-5/model/__0_0.distcp", "step-5/optimizer/.metadata"},
		{"step-5: step-5/model/__0_0.distcp has no .metadata with it"}},
	{"dcp", {"__0_0.distcp", "__1_0.distcp", "other"},
		{"__0_0.distcp: __0_0.distcp has no .metadata with it",
			"__1_0.distcp: __1_0.distcp has no .metadata with it"}},
	{"dcp", {"step-5/.metadata.tmp", "step-5/__0_0.distcp"},
		{"step-5: step-5/__0_0.distcp has no .metadata with it"}},
	{"dcp", {"model/.metadata", "model/__0_0.distcp+"},
		{"model/__0_0.distcp: model/__0_0.distcp has no new .metadata with it"}},
	{"dcp", {"model/.metadata+", "model/__0_0.distcp+"}, {NULL}},
	{"dcp", {"model/.metadata", "model/README+", "model/__0_0.distcp"}, {NULL}},
	/* TensorFlow */
	{"tf", {"checkpoint", "ckpt-1.data-00000-of-00001", "ckpt-1.index"}, {NULL}},
	{NULL, {"model.index"}, {NULL}},
	/* DeepSpeed */
	{"deepspeed", {"global_step5/m", "latest=global_step5\n"}, {NULL}},
	{"deepspeed", {"global_step5/m", "global_step9/m", "latest=global_step5"},
		{"global_step9: latest names number 5, not yet global_step9"}},
	{"deepspeed", {"global_step5/m"}, {"global_step5: no latest names global_step5"}},
	{"deepspeed", {"global_step5/m", "latest="},
		{"global_step5: no latest names global_step5"}},
	{"deepspeed", {"global_step5/m", "latest=mine"}, {NULL}},
	{"deepspeed", {"mine/m"}, {NULL}},
	{"deepspeed", {"run/global_step10/m", "run/global_step9/m", "run/latest=global_step9"},
		{"run/global_step10: run/latest names number 9, not yet run/global_step10"}},
	{"torch", {"global_step9/m", "latest=global_step5"}, {NULL}},
	/* Megatron */
	{"megatron", {"iter_0000005/m", "iter_0000009/m", "latest_checkpointed_iteration.txt=5"},
		{"iter_0000009: latest_checkpointed_iteration.txt names number 5, not yet "
		 "iter_0000009"}},
	{NULL, {"iter_0000005/m", "iter_0000009/m", "latest_checkpointed_iteration.txt=5"},
		{"iter_0000009: latest_checkpointed_iteration.txt names number 5, not yet "
		 "iter_0000009"}},
	{NULL, {"iter_0000005/m"}, {NULL}},
	{"megatron", {"iter_0000005/m", "latest_checkpointed_iteration.txt=release"}, {NULL}},
	/* Keras */
	{"keras", {"backup/latest.weights.h5", "backup/training_metadata.json"}, {NULL}},
	{"keras", {"latest.weights.h5"},
		{"latest.weights.h5: latest.weights.h5 has no training_metadata.json with it"}},
	{"keras", {"training_metadata.json"},
		{"training_metadata.json: training_metadata.json has no latest.weights.h5 with "
		 "it"}},
	{"keras", {"latest.weights.h5+", "training_metadata.json"},
		{"latest.weights.h5: latest.weights.h5 has no new training_metadata.json with it"}},
	/* Accelerate */
	{"accelerate", {"checkpoint_3/optimizer.bin", "checkpoint_3/random_states_0.pkl"}, {NULL}},
	{"accelerate", {"checkpoint_3/optimizer.bin"},
		{"checkpoint_3: checkpoint_3 has no random_states_*.pkl"}},
	{"accelerate", {"checkpoint_3/model.safetensors"}, {NULL}},
	/* A rule of two profiles speaks once of one checkpoint. */
	{"megatron", {"iter_0000005/__0_0.distcp", "latest_checkpointed_iteration.txt=5"},
		{"iter_0000005: iter_0000005/__0_0.distcp has no .metadata with it"}},
	{"lightning", {"epoch=1-step=5.ckpt", "last.ckpt"}, {NULL}},
	{"files", {NULL}, {NULL}},
	// clang-format on
};

struct directory {
	struct snapshot_files files;
	const char *texts[FILES];
	bool fresh[FILES];
	bool any_fresh;
	char told[TOLD + 1][160];
	size_t told_count;
};

static size_t row_of(const struct directory *directory, const char *path)
{
	size_t i = 0;

	while (!text_equal(directory->files.items[i].path, path))
		i++;
	return i;
}

static const char *text_of(void *arg, const char *path)
{
	const struct directory *directory = arg;

	return directory->texts[row_of(directory, path)];
}

static bool is_fresh(void *arg, const char *path)
{
	const struct directory *directory = arg;

	return directory->fresh[row_of(directory, path)];
}

static void told(void *arg, const char *path, const char *why)
{
	struct directory *directory = arg;

	assert_true(directory->told_count < TOLD);
	snprintf(directory->told[directory->told_count++], 160, "%s: %s", path, why);
}

static void fill(struct directory *directory, const struct row *row)
{
	directory->files.items = memory_new(FILES * sizeof(directory->files.items[0]));
	for (size_t i = 0; i < FILES && row->files[i]; i++) {
		const char *file = row->files[i];
		size_t length = strcspn(file, "=+");

		/* "epoch=1" is a name. */
		if (text_starts(file, "epoch="))
			length = strlen(file);
		directory->files.items[i].path = text_copy_n(file, length);
		directory->texts[i] = file[length] == '=' ? file + length + 1 : NULL;
		directory->fresh[i] = file[length] == '+';
		directory->any_fresh |= directory->fresh[i];
		directory->files.count++;
		if (i > 0)
			assert_true(strcmp(directory->files.items[i - 1].path,
					   directory->files.items[i].path) < 0);
	}
}

static void test_rules(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		struct directory directory = {0};
		struct layout_view view = {
			.files = &directory.files,
			.text = text_of,
			.arg = &directory,
		};

		fill(&directory, row);
		view.fresh = directory.any_fresh ? is_fresh : NULL;
		layout_rules_find_incomplete(row->profile ? profile_find(row->profile) : NULL,
					     &view, told, &directory);
		for (size_t j = 0; j < TOLD; j++) {
			const char *expected = row->told[j] ? row->told[j] : "";

			if (!text_equal(directory.told[j], expected))
				fail_msg("row %zu (%s, %s): \"%s\" instead of \"%s\"", i,
					 row->profile ? row->profile : "none", row->files[0],
					 directory.told[j], expected);
		}
		snapshot_files_release(&directory.files);
	}
}

/* Of several machines that save one checkpoint, all but one need not have what rank 0 writes. */
static void test_the_marker_is_elsewhere(void **state)
{
	static const struct {
		const char *profile, *file;
		size_t told;
	} cases[] = {
		{"dcp", "step-5/__1_0.distcp", 0},
		{NULL, "step-5/__1_0.distcp", 0},
		{"hf", "checkpoint-5/rng_state_1.pth", 0},
		{"megatron", "iter_0000005/m", 0},
		{"deepspeed", "global_step5/m", 0},
		/* These each one has. */
		{"accelerate", "checkpoint_3/optimizer.bin", 1},
		{"keras", "latest.weights.h5", 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct profile *profile =
			cases[i].profile ? profile_find(cases[i].profile) : NULL;
		struct snapshot_file file = {.path = (char *)cases[i].file};
		struct snapshot_files files = {.items = &file, .count = 1};
		struct directory directory = {0};
		struct layout_view view = {
			.files = &files,
			.text = text_of,
			.arg = &directory,
			.marker_elsewhere = true,
		};

		layout_rules_find_incomplete(profile, &view, told, &directory);
		if (directory.told_count != cases[i].told)
			fail_msg("%s: \"%s\"", cases[i].file, directory.told[0]);
	}
}

static void test_units(void **state)
{
	static const struct {
		const char *path, *unit;
	} units[] = {
		{"checkpoint-500/model.pt", "checkpoint-500"},
		{"out/checkpoint-500/a/model.pt", "out/checkpoint-500"},
		{"checkpoint-500/global_step500/x", "checkpoint-500"},
		{"epoch-1/step-500/x", "epoch-1/step-500"},
		{"global_step5/x", "global_step5"},
		{"iter_0000005/mp_rank_00/x", "iter_0000005"},
		{"epoch=3-step=10/x", "epoch=3-step=10"},
		{"5/default/x", "5"},
		{"step-5/0/x", "step-5"},
		{"Checkpoint5/x", "Checkpoint5"},
		{"step-000005/data", "step-000005"},
		{"checkpoints_v2/x.pt", ""},
		{"checkpoints/x.pt", ""},
		{"lightning_logs/version_0/checkpoints/epoch=1-step=3.ckpt", ""},
		{"model-5.pt", ""},
		{"fold3/x", ""},
		{"step/5.pt", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t length = checkpoint_directory_length(units[i].path);

		if (length != strlen(units[i].unit) ||
		    strncmp(units[i].path, units[i].unit, length) != 0)
			fail_msg("%s: %.*s", units[i].path, (int)length, units[i].path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_the_marker_is_elsewhere),
		cmocka_unit_test(test_units),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
