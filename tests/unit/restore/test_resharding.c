/* Whether another number of machines can read a checkpoint, over the names that real ones have. */
#include "restore/start.h"

#include <string.h>

#include "unit.h"

#define FILES_MOST 10

struct reshard_row {
	const char *what;
	/* "0 step_5/.metadata": of member 0; "0+": of others too, with the same content; "0!": with
	 * other content; "~0": written all the time */
	const char *files[FILES_MOST];
	/* NULL: it fits */
	const char *why;
};

// clang-format off
static const struct reshard_row rows[] = {
	{"DCP of two nodes, of which the coordinator alone has .metadata",
		{"0 step_5/.metadata", "0 step_5/__0_0.distcp", "0 step_5/__1_0.distcp",
			"1 step_5/__2_0.distcp", "1 step_5/__3_0.distcp"}, NULL},
	{"DCP in the checkpoint directory itself",
		{"0 .metadata", "0 __0_0.distcp", "1 __1_0.distcp"}, NULL},
	{"DCP that nobody has committed",
		{"0 step_5/__0_0.distcp", "1 step_5/__1_0.distcp"},
		"member 0 alone has step_5/__0_0.distcp, and member 1 alone has step_5/__1_0.distcp"},
	{"one committed, one not",
		{"0 step_5/.metadata", "0 step_5/__0_0.distcp", "1 step_5/__1_0.distcp",
			"0 step_10/__0_0.distcp", "1 step_10/__1_0.distcp"}, "step_10/__1_0.distcp"},
	{"two members that both say that they are rank 0",
		{"0 step_5/.metadata", "0! step_5/__0_0.distcp"}, "step_5/__0_0.distcp is not the same"},
	{"Megatron's",
		{"0 iter_0000100/.metadata", "0 iter_0000100/__0_0.distcp", "1 iter_0000100/__8_0.distcp",
			"0 iter_0000100/common.pt", "0 iter_0000100/metadata.json",
			"0 latest_checkpointed_iteration.txt"}, NULL},
	{"FSDP by accelerate: a random state of each rank",
		{"0 checkpoint_3/pytorch_model_fsdp_0/.metadata",
			"0 checkpoint_3/pytorch_model_fsdp_0/__0_0.distcp",
			"1 checkpoint_3/pytorch_model_fsdp_0/__1_0.distcp",
			"0 checkpoint_3/optimizer_0/.metadata",
			"0 checkpoint_3/optimizer_0/__0_0.distcp", "1 checkpoint_3/optimizer_0/__1_0.distcp",
			"0 checkpoint_3/scheduler.bin", "0 checkpoint_3/random_states_0.pkl",
			"1 checkpoint_3/random_states_1.pkl"}, NULL},
	{"DCP, and beside it what each rank has for itself",
		{"0 step_5/.metadata", "0 step_5/__0_0.distcp", "1 step_5/__1_0.distcp",
			"0 step_5/loader_rank0.pt", "1 step_5/loader_rank1.pt"}, "loader_rank1.pt"},
	{"Orbax",
		{"0 100/_CHECKPOINT_METADATA", "0 100/default/_METADATA", "0 100/default/manifest.ocdbt",
			"0 100/default/ocdbt.process_0/d/1f", "1 100/default/ocdbt.process_1/d/2e"}, NULL},

	{"rank 0 alone saves", {"0 checkpoint-500.pt"}, NULL},
	{"member 1 alone saves", {"1 step_5/model.pt", "1 step_5/optim.pt"}, NULL},
	{"the Trainer of Hugging Face",
		{"0 checkpoint-5/model-00001-of-00002.safetensors",
			"0 checkpoint-5/model-00002-of-00002.safetensors", "0 checkpoint-5/trainer_state.json",
			"0 checkpoint-5/rng_state_0.pth", "1 checkpoint-5/rng_state_1.pth"}, NULL},
	{"the same, saved by each node",
		{"0+ checkpoint-5/model.safetensors", "0+ checkpoint-5/trainer_state.json",
			"0 checkpoint-5/rng_state_0.pth", "1 checkpoint-5/rng_state_1.pth"}, NULL},
	{"logs of all", {"0 step_5.pt", "~0! train.log", "~1 metrics-1.csv"}, NULL},

	{"a file of each rank", {"0 step_5/rank0.pt", "1 step_5/rank1.pt"}, "rank1.pt"},
	{"a shard of each, without a word for it", {"0 step_5/a.pt", "1 step_5/b.pt"},
		"member 0 alone has step_5/a.pt, and member 1 alone has step_5/b.pt"},
	{"one name, other content", {"0! step_5/state.pt"}, "step_5/state.pt is not the same"},
	{"DeepSpeed's ZeRO",
		{"0 global_step5/mp_rank_00_model_states.pt",
			"0 global_step5/zero_pp_rank_0_mp_rank_00_optim_states.pt",
			"1 global_step5/zero_pp_rank_1_mp_rank_00_optim_states.pt", "0 latest"},
		"zero_pp_rank_1_mp_rank_00_optim_states.pt is of one of its ranks"},
	{"several ranks on one machine", {"0 step_5/shard_0.bin", "0 step_5/shard_1.bin"},
		"shard_1.bin is of one of its ranks"},
	{"one rank on one machine", {"0 step_5/rank0.pt"}, NULL},
	{"Rank-12", {"0 step_5/Rank-12.pt"}, "Rank-12.pt"},
	{"rankings are no ranks", {"0 step_5/rankings.json", "0 step_5/sharded.pt"}, NULL},
	{"nothing", {0}, NULL},
};
// clang-format on

static struct gang_file parse_file(const char *text)
{
	struct gang_file file = {.having = 1};

	file.running = *text == '~';
	text += file.running;
	file.member = (uint32_t)(*text++ - '0');
	file.differs = *text == '!';
	if (*text != ' ') {
		file.having = 2;
		text++;
	}
	file.path = (char *)text + 1;
	return file;
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct reshard_row *row = &rows[i];
		struct gang_file items[FILES_MOST];
		struct gang_files files = {.members = 2, .items = items};
		struct resharding found;

		while (files.count < FILES_MOST && row->files[files.count]) {
			items[files.count] = parse_file(row->files[files.count]);
			files.count++;
		}
		found = resharding_judge(&files);
		if (found.fits != (row->why == NULL))
			fail_msg("%s: %s (%s)", row->what, found.fits ? "it fits" : "it does not",
				 found.why);
		if (row->why && !strstr(found.why, row->why))
			fail_msg("%s: \"%s\" lacks \"%s\"", row->what, found.why, row->why);
	}
}

static void test_whose_part_is_not_enough(void **state)
{
	static const struct {
		const char *names[3];
		bool needs_all;
	} own[] = {
		{{"step_5/.metadata", "step_5/__0_0.distcp"}, true},
		{{"step_5/__1_0.distcp"}, true},
		{{"100/_CHECKPOINT_METADATA", "100/default/manifest.ocdbt"}, true},
		{{"step_5/rank1.pt", "latest"}, false},
		{{"step_5/metadata.json", "distcp"}, false},
		{{0}, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		struct snapshot_file items[3] = {0};
		struct snapshot_files files = {.items = items};

		while (files.count < 3 && own[i].names[files.count]) {
			items[files.count].path = (char *)own[i].names[files.count];
			files.count++;
		}
		assert_int_equal(resharding_needs_all(&files), own[i].needs_all);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_whose_part_is_not_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
