#include "frameworks/profile.h"

#include "base/text.h"
#include "options/options.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

static void test_the_table(void **state)
{
	char *names = profile_names();

	(void)state;
	for (size_t i = 0; i < profile_count; i++) {
		const struct profile *profile = &profile_rows[i];

		assert_ptr_equal(profile_find(profile->name), profile);
		assert_non_null(strstr(names, profile->name));
		assert_true(profile->title && profile->ask_note && profile->completion_note &&
			    profile->resume_note);
		assert_int_equal(profile->ask == PROFILE_ASK_SIGNAL, profile->signal != 0);
		/* Lists end within their room. */
		assert_null(profile->words[PROFILE_NAMES - 1]);
		assert_null(profile->imports[PROFILE_NAMES - 1]);
		assert_null(profile->also[PROFILE_NAMES - 1]);
		assert_null(profile->temporary[PROFILE_NAMES - 1]);
		assert_int_equal(profile->resume_codes[PROFILE_CODES - 1], 0);
	}
	assert_null(profile_find("auto"));
	assert_null(profile_find(""));
	free(names);
}

/* People say what they install or import. */
static void test_usual_names(void **state)
{
	static const struct {
		const char *called, *name;
	} rows[] = {
		{"transformers", "hf"},
		{"huggingface", "hf"},
		{"pytorch-lightning", "lightning"},
		{"pytorch_lightning", "lightning"},
		{"PyTorch", "torch"},
		{"TensorFlow", "tf"},
		{"jax", "orbax"},
		{"Megatron-LM", "megatron"},
		{"none", NULL},
		{"pytorchx", NULL},
		{"pyt", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct profile *found = profile_find(rows[i].called);

		if (!rows[i].name || !found)
			assert_true(!rows[i].name && !found);
		else
			assert_string_equal(found->name, rows[i].name);
	}
}

static void test_imports(void **state)
{
	static const struct {
		const char *script, *module;
		bool found;
	} cases[] = {
		{"import torch\n", "torch", true},
		{"x = 1\n    import torch as t", "torch", true},
		{"import os, torch", "torch", true},
		{"import os as o,torch.nn", "torch", true},
		{"from torch import nn", "torch", true},
		{"from torch.nn import functional", "torch", true},
		{"import torchvision", "torch", false},
		{"# import torch", "torch", false},
		{"print('import torch')", "torch", false},
		{"important torch", "torch", false},
		{"from torchvision import torch", "torch", false},
		{"import torch.distributed.checkpoint as dcp", "torch.distributed.checkpoint",
		 true},
		{"from torch.distributed import checkpoint", "torch.distributed.checkpoint", true},
		{"from torch.distributed import fsdp, checkpoint as c",
		 "torch.distributed.checkpoint", true},
		{"from torch.distributed import checkpointing", "torch.distributed.checkpoint",
		 false},
		{"from torch.distributed.checkpoint import save", "torch.distributed.checkpoint",
		 true},
		{"from torch import distributed", "torch.distributed.checkpoint", false},
		{"import", "torch", false},
		{"from", "torch", false},
		{"from torch", "torch.nn", false},
		{"", "torch", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (profile_imports(cases[i].script, cases[i].module) != cases[i].found)
			fail_msg("%s in %s", cases[i].module, cases[i].script);
}

#define WORDS 5

static void test_choosing(void **state)
{
	static const struct {
		const char *command[WORDS], *script, *shell, *file, *profile;
		bool can_be_asked;
	} cases[] = {
		// clang-format off
		{{"python", "train.py"}, "import torch", NULL, NULL, "torch", true},
		{{"torchrun", "train.py"}, "import torch", NULL, NULL, "torchrun", true},
		{{"/usr/bin/torchrun", "train.py"}, NULL, NULL, NULL, "torchrun", true},
		{{"python", "-m", "torch.distributed.run"}, NULL, NULL, NULL, "torchrun", true},
		{{"torchrun", "train.py"}, "import torch.distributed.checkpoint", NULL, NULL, "dcp",
			true},
		{{"bash", "x.sh"}, NULL, "export A=1\nexec torchrun --nproc 2 train.py\n", NULL,
			"torchrun", true},
		{{"python", "train.py"}, "from transformers import Trainer", NULL, NULL, "hf",
			false},
		{{"python", "train.py"},
			"from transformers import "
			"Trainer\nTrainingArguments(enable_jit_checkpoint=True)",
			NULL, NULL, "hf", true},
		{{"python", "train.py", "--enable_jit_checkpoint"},
			"from transformers import Trainer", NULL, NULL, "hf", true},
		{{"python", "train.py"}, "from transformers import AutoTokenizer\nimport torch",
			NULL, NULL, "torch", true},
		{{"accelerate", "launch", "train.py"}, "import torch", NULL, NULL, "accelerate",
			false},
		{{"accelerate", "launch", "train.py"}, "from transformers import Trainer", NULL,
			NULL, "hf", false},
		{{"deepspeed", "train.py"}, "import torch", NULL, NULL, "deepspeed", false},
		{{"python", "train.py", "--deepspeed=x.json"}, "import torch", NULL, NULL,
			"deepspeed", false},
		{{"python", "pretrain_gpt.py", "--exit-signal-handler"}, "import torch", NULL, NULL,
			"megatron", true},
		{{"python", "train.py"}, "import lightning as L", NULL, NULL, "lightning", false},
		{{"python", "train.py"},
			"import lightning as L\nL.ModelCheckpoint(save_on_exception=True)", NULL,
			NULL, "lightning", true},
		{{"python", "train.py"}, "import pytorch_lightning", NULL, NULL, "lightning",
			false},
		{{"python", "train.py"},
			"import tensorflow as tf\ntf.keras.callbacks.BackupAndRestore(d)", NULL,
			NULL, "keras", false},
		{{"python", "train.py"}, "import tensorflow as tf", NULL, NULL, "tf", false},
		{{"python", "train.py"}, "import orbax.checkpoint as ocp", NULL, NULL, "orbax",
			false},
		{{"python", "train.py"}, "import xgboost", NULL, NULL, "xgboost", false},
		{{"python", "-m", "submitit.core._submit"}, NULL, NULL, NULL, "submitit", true},
		{{"train"}, NULL, NULL, "checkpoint-5/checkpoint-is-incomplete.txt", "hf", true},
		{{"train"}, NULL, NULL, "step-5/__0_0.distcp", "dcp", true},
		{{"python", "train.py"}, "import numpy", NULL, "a/model.pt", "numpy", true},
		{{"train", "deepspeed-notes.txt"}, NULL, NULL, NULL, NULL, false},
		{{"cat", "torchrun.txt"}, "print()", NULL, "notes", NULL, false},
		{{"true"}, NULL, NULL, NULL, NULL, false},
		{{"mpirun", "-n", "2", "/usr/bin/mb", "a.nex"}, NULL, NULL, NULL, "mrbayes", false},
		{{"bash", "x.sh"}, NULL, "cd run\nexec mb a.nex", NULL, "mrbayes", false},
		{{"john", "--restore=run"}, NULL, NULL, NULL, "john", true},
		{{"train", "--unit", "mb"}, NULL, NULL, NULL, NULL, false},
		// clang-format on
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *command[WORDS + 1] = {0};
		struct snapshot_file file = {.path = text_copy(cases[i].file ? cases[i].file : "")};
		struct snapshot_files files = {.items = &file, .count = 1};
		struct profile_evidence evidence = {
			.command = command,
			.script = cases[i].script,
			.shell = cases[i].shell,
			.checkpoints = cases[i].file ? &files : NULL,
		};
		struct profile_choice choice;
		const char *name;

		for (size_t j = 0; j < WORDS && cases[i].command[j]; j++)
			command[j] = text_copy(cases[i].command[j]);
		profile_choose(&evidence, &choice);
		name = choice.profile ? choice.profile->name : NULL;
		if (!(text_equal(name, cases[i].profile) || (!name && !cases[i].profile)) ||
		    choice.can_be_asked != cases[i].can_be_asked)
			fail_msg("row %zu: %s (%s), %d", i, name ? name : "none", choice.why,
				 choice.can_be_asked);
		assert_int_equal(choice.profile != NULL, choice.why[0] != '\0');
		for (size_t j = 0; command[j]; j++)
			free(command[j]);
		free(file.path);
	}
}

static void test_handler_unseen(void **state)
{
	static const struct {
		const char *script, *shell;
		bool unseen;
	} cases[] = {
		{"import numpy\n", NULL, true},
		{"import torch\n", NULL, true},
		{"import torch, signal\n", NULL, true},
		{"import torch, signal\nsignal.signal(signal.SIGTERM, save)\n", NULL, false},
		{"import torch\nfrom signal import signal, SIGTERM\n", NULL, false},
		{"import torch\nloop.add_signal_handler(15, save)\n", NULL, false},
		{"import torch\nimport reprieve\n", NULL, false},
		{"import torch, signal\nsignal.signal(signal.SIGUSR1, save)\n", NULL, true},
		{"import torch, signal\nfor s in signal.SIGUSR1, signal.SIGTERM: signal.signal(s, "
		 "save)\n",
		 NULL, false},
		{"import torch, signal\nsignal.signal(WHICH, signal.SIG_IGN)\n", NULL, false},
		{"import numpy\n", "trap save TERM\npython train.py\n", false},
		{"from transformers import Trainer\n", NULL,
		 false}, /* the framework may have one */
		{"import orbax.checkpoint\n", NULL, false},
		{NULL, "torchrun train\n", false}, /* nobody has read it */
	};
	char *command[] = {"train", NULL};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct profile_evidence evidence = {
			.command = command,
			.script = cases[i].script,
			.shell = cases[i].shell,
		};
		struct profile_choice choice;
		struct job_config options = {0};
		char text[512];

		profile_choose(&evidence, &choice);
		assert_non_null(choice.profile);
		if (choice.handler_unseen != cases[i].unseen)
			fail_msg("row %zu", i);
		profile_options_format(&options, &choice, text, sizeof(text));
		assert_int_equal(strstr(text, "no handler for SIGTERM is seen") != NULL,
				 cases[i].unseen);
	}
}

static void test_names(void **state)
{
	const struct profile *hf = profile_find("hf"), *torch = profile_find("torch");

	(void)state;
	assert_true(profile_is_temporary_path(NULL, "step-5/.metadata.tmp"));
	assert_true(profile_is_temporary_path(torch, "5.orbax-checkpoint-tmp-12/a/b"));
	assert_true(profile_is_temporary_path(profile_find("safetensors"), ".tmpAbc123"));
	assert_false(profile_is_temporary_path(torch, ".tmpAbc123"));
	assert_true(profile_is_temporary_path(NULL, "tmp-checkpoint-5/model"));
	assert_false(profile_is_temporary_path(hf, "checkpoint-5/model.tmp"));
	assert_true(profile_is_completion_marker(hf, "checkpoint-5/trainer_state.json"));
	assert_false(profile_is_completion_marker(hf, "checkpoint-5/config.json"));
	assert_false(profile_is_completion_marker(NULL, "checkpoint-5/trainer_state.json"));
	assert_true(profile_has_marker(hf, PROFILE_RULE_FORBIDS,
				       "checkpoint-5/checkpoint-is-incomplete.txt"));
	assert_true(profile_has_marker(NULL, PROFILE_RULE_FORBIDS,
				       "checkpoint-5/checkpoint-is-incomplete.txt"));
	assert_false(
		profile_has_marker(hf, PROFILE_RULE_FORBIDS, "checkpoint-5/trainer_state.json"));
}

static void test_exit_codes(void **state)
{
	(void)state;
	assert_true(profile_is_resume_code(profile_find("hf"), 0));
	assert_true(profile_is_resume_code(profile_find("lightning"), 143));
	assert_true(profile_is_resume_code(profile_find("tf"), 42));
	assert_true(profile_is_resume_code(profile_find("submitit"), 255));
	assert_true(profile_is_resume_code(profile_find("torchrun"), 1));
	assert_false(profile_is_resume_code(profile_find("torch"), 1));
	assert_false(profile_is_resume_code(profile_find("torch"), 0));
	assert_false(profile_is_resume_code(NULL, 143));
}

static void test_how_the_job_is_asked(void **state)
{
	static const struct {
		const char *profile;
		bool can_be_asked, chosen;
		enum request_method ask;
		int signal;
		bool ends;
		const char *says;
	} cases[] = {
		{"hf", true, false, REQUEST_AUTO, 0, true,
		 "asked with SIGTERM; needs TrainingArguments"},
		{"hf", false, false, REQUEST_AUTO, 0, false,
		 "it cannot be asked for a checkpoint, its periodic ones count"},
		{"lightning", false, false, REQUEST_NONE, 0, false, "it cannot be asked"},
		{"lightning", true, false, REQUEST_AUTO, 0, true, "asked with SIGTERM"},
		{"submitit", true, false, REQUEST_SIGNAL, SIGUSR2, true, "asked with SIGUSR2"},
		{"orbax", true, false, REQUEST_SIGNAL, SIGTERM, false, "asked with SIGTERM"},
		{"submitit", true, true, REQUEST_SIGNAL, SIGUSR1, false,
		 "asked with SIGUSR1, as --checkpoint-signal says"},
		{"lightning", false, true, REQUEST_SIGNAL, SIGUSR1, false,
		 "asked with SIGUSR1, as --checkpoint-signal says"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct job_config options = {.ask_chosen = cases[i].chosen};
		struct profile_choice choice = {
			.profile = profile_find(cases[i].profile),
			.why = "chosen",
			.can_be_asked = cases[i].can_be_asked,
		};
		char text[512];

		if (cases[i].chosen) {
			options.ask = REQUEST_SIGNAL;
			options.checkpoint_signal = SIGUSR1;
		}
		profile_options_apply(&options, &choice);
		assert_int_equal(options.ask, cases[i].ask);
		assert_int_equal(options.checkpoint_signal, cases[i].signal);
		assert_int_equal(options.ask_ends_job, cases[i].ends);
		profile_options_format(&options, &choice, text, sizeof(text));
		if (!strstr(text, cases[i].says))
			fail_msg("row %zu: %s", i, text);
	}
}

static void test_a_job_that_polls(void **state)
{
	struct job_config options = {0};
	struct profile_choice choice = {
		.profile = profile_find("lightning"),
		.why = "chosen",
		.polls = true,
	};
	char text[512];

	(void)state;
	profile_options_apply(&options, &choice);
	profile_options_format(&options, &choice, text, sizeof(text));
	assert_non_null(strstr(text, "asked by the flag"));
	options.ask_chosen = true;
	options.ask = REQUEST_NONE;
	profile_options_format(&options, &choice, text, sizeof(text));
	assert_non_null(strstr(text, "not asked, as --checkpoint-signal says"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_table),
		cmocka_unit_test(test_usual_names),
		cmocka_unit_test(test_imports),
		cmocka_unit_test(test_choosing),
		cmocka_unit_test(test_handler_unseen),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_exit_codes),
		cmocka_unit_test(test_how_the_job_is_asked),
		cmocka_unit_test(test_a_job_that_polls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
