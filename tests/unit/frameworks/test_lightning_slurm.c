#include "frameworks/frameworks.h"

#include "base/file.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define ROOT "Trainer(default_root_dir=out"

static void test_where_it_is_sound(void **state)
{
	static const struct {
		struct lightning_slurm_facts facts;
		bool sound;
	} cases[] = {
		{{.script = ROOT ")"}, true},
		{{.script = "Trainer()"}, false},
		{{.script = "Trainer()", .directory_is_root = true}, true},
		{{.script = NULL, .directory_is_root = true}, false},
		{{.script = ROOT ")", .in_environment = true}, false},
		{{.script = ROOT ")", .launched = true}, false},
		{{.script = ROOT ")", .many_devices = true}, false},
		{{.script = ROOT ", devices=1)", .many_devices = true}, true},
		{{.script = ROOT ", devices = 1)", .many_devices = true}, true},
		{{.script = ROOT ", devices=10)"}, false},
		{{.script = ROOT ", devices=args.devices)"}, false},
		{{.script = ROOT ", devices=1.0)"}, false},
		{{.script = ROOT ", devices=\"auto\")"}, false},
		{{.script = ROOT ", devices="}, false},
		{{.script = ROOT ", devices=\n2)"}, false},
		{{.script = ROOT ", devices=1\n)", .many_devices = true}, true},
		{{.script = ROOT ", devices=1)\nTrainer(devices=2)"}, false},
		{{.script = ROOT ", devices=1, num_nodes=2)"}, false},
		{{.script = ROOT ", devices=1, num_nodes=1)"}, true},
		{{.script = "if devices == 2: pass\n" ROOT ")"}, true},
		{{.script = ROOT ")\nfit(ckpt_path=\"last\")"}, false},
		{{.script = ROOT ")\nsignal.signal(signal.SIGUSR1, handler)"}, false},
		{{.script = ROOT ", plugins=[SLURMEnvironment()])"}, false},
		{{.script = ""}, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (lightning_slurm_is_safe(&cases[i].facts) != cases[i].sound)
			fail_msg("row %zu: %s", i, cases[i].facts.script);
}

static void test_a_scontrol_that_says_yes(void **state)
{
	char nonce[33];
	char *directory, *program, **pairs;
	struct err err;

	(void)state;
	random_hex(nonce);
	directory = text_format("/tmp/slurm-road-%s", nonce);
	program = text_format("%s/scontrol requeue 1", directory);
	assert_int_equal(lightning_slurm_create(directory, &err), 0);
	assert_int_equal(lightning_slurm_create(directory, &err), 0);
	/* NOLINT(cert-env33-c): a program of our own, by its whole path */
	assert_int_equal(system(program), 0);
	pairs = lightning_slurm_environment(directory, 3);
	assert_string_equal(pairs[0], "SLURM_NTASKS=1");
	assert_string_equal(pairs[5], "SLURM_JOB_ID=3");
	assert_true(text_starts(pairs[6] + 5, directory));
	assert_null(pairs[7]);
	for (char **pair = pairs; *pair; pair++)
		free(*pair);
	free(pairs);
	assert_int_equal(file_remove_tree(directory, &err), 0);
	assert_int_equal(lightning_slurm_create("/proc/none", &err), -1);
	free(program);
	free(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_where_it_is_sound),
		cmocka_unit_test(test_a_scontrol_that_says_yes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
