/* reprieve doctor: looks at this machine and tries a store, before a job depends on them, and
 * says what to mend. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"
#include "cli.h"
#include "doctor/doctor.h"
#include "run_option_table.h"
#include "store_command.h"
#include "terminal_line.h"
#include "workspace/workspace.h"

#include <stdio.h>
#include <stdlib.h>

#define MEASURE_DEFAULT ((uint64_t)64 << 20)
#define MEASURE_MOST ((uint64_t)512 << 20)
#define SIZE_DEFAULT 40000000000u

#define GRACE_DEFAULT_MS 30000

struct options {
	uint64_t size, measure;
	struct doctor_options machine;
};

static int set_notice(void *arg, const char *value, struct err *err)
{
	(void)err; /* cloud.h knows the names */
	((struct options *)arg)->machine.notice = value;
	return 0;
}

static int set_grace(void *arg, const char *value, struct err *err)
{
	return run_option_parse_duration(value, &((struct options *)arg)->machine.grace_ms, err);
}

static int set_size(void *arg, const char *value, struct err *err)
{
	struct options *options = arg;

	if (!text_to_bytes(value, &options->size))
		return err_set(err, ERR_INVALID, "'%s' is no size: write 40GB or 512MB", value);
	return 0;
}

static int set_measure(void *arg, const char *value, struct err *err)
{
	struct options *options = arg;

	if (!text_to_bytes(value, &options->measure) || options->measure > MEASURE_MOST)
		return err_set(err, ERR_INVALID, "'%s' is no size up to 512MiB (0: do not measure)",
			       value);
	return 0;
}

static const struct store_command_option own_options[] = {
	{"size", false, set_size},
	{"measure", false, set_measure},
	{"notice", false, set_notice},
	{"grace", false, set_grace},
	{0},
};

static const struct store_command_usage usage = {
	.text = "Look at this machine: who announces a preemption, the preload library, process 1, "
		"the "
		"time to save.\nTry a store: what these credentials may do there, whether the "
		"clock "
		"is right, how fast it is.\nUnder Slurm: what its configuration means for a "
		"preempted job.\n\n"
		"  reprieve doctor\n"
		"  reprieve doctor --store s3://bucket/runs --size 40GB\n\n"
		"Usage: reprieve doctor [--store URL] [--size SIZE] [--measure SIZE] [--notice "
		"LIST] "
		"[--grace SECONDS] [--json]\n\n"
		"      --size SIZE      of a checkpoint: does it fit in a notice? (default: 40GB)\n"
		"      --measure SIZE   how much is sent and read back to measure (default: 64MiB; "
		"0: nothing)\n"
		"      --notice LIST, --grace SECONDS   as for `reprieve run`\n\n"
		"Objects of its own are written below tmp/ and removed again.\n"
		"Exit status: 0 if nothing failed, 1 otherwise.\n",
	.words_most = 0,
	.no_job = true,
	.options = own_options,
};

static void print_rows(const struct check_list *check_list)
{
	for (size_t i = 0; i < check_list->count; i++) {
		const struct check_result *row = &check_list->rows[i];

		terminal_line_print("%-4s  %-9s  %s", check_level_name(row->level), row->check,
				    row->text);
		if (row->fix[0])
			printf("%-4s  %-9s  %s\n", "", "", row->fix);
	}
}

static json_t *rate_json(const struct store_probe *probe, enum probe_step step)
{
	const struct probe_result *answer = &probe->steps[step];

	if (!answer->worked)
		return json_null();
	return json_integer((json_int_t)(probe->bytes * 1000 /
					 (uint64_t)(answer->took_ms > 0 ? answer->took_ms : 1)));
}

static json_t *rows_json(const struct check_list *check_list)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < check_list->count; i++) {
		const struct check_result *row = &check_list->rows[i];

		json_array_append_new(rows,
				      json_pack("{s:s, s:s, s:s, s:o}", "check", row->check,
						"level", check_level_name(row->level), "text",
						row->text, "fix",
						row->fix[0] ? json_string(row->fix) : json_null()));
	}
	return rows;
}

/* NULL: not there. */
struct doctor_findings {
	const struct check_list *machine, *store, *slurm;
};

static enum check_level worst_of(const struct doctor_findings *findings)
{
	const struct check_list *all[] = {findings->machine, findings->store, findings->slurm};
	enum check_level worst = CHECK_OK;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i] && check_list_worst(all[i]) > worst)
			worst = check_list_worst(all[i]);
	return worst;
}

static void print_json(const char *store, const struct store_probe *probe,
		       const struct doctor_findings *findings)
{
	json_t *all = json_pack("{s:s?, s:s, s:o, s:o, s:o, s:o}", "store", store, "level",
				check_level_name(worst_of(findings)), "up_bytes_per_second",
				rate_json(probe, PROBE_UPLOAD), "down_bytes_per_second",
				rate_json(probe, PROBE_DOWNLOAD), "machine",
				rows_json(findings->machine), "checks", rows_json(findings->store));

	if (findings->slurm)
		json_object_set_new(all, "slurm", rows_json(findings->slurm));
	json_print(all, true);
}

static void print_findings(const struct doctor_findings *findings)
{
	printf("This machine:\n");
	print_rows(findings->machine);
	printf("\nThe store:\n");
	print_rows(findings->store);
	if (findings->slurm) {
		printf("\nSlurm:\n");
		print_rows(findings->slurm);
	}
}

static int examine_store(const struct store_command *store_command, const struct options *options,
			 struct store_probe *probe, struct check_list *check_list, struct err *err)
{
	*probe = (struct store_probe){0};
	/* The rest is worth knowing all the same: an init needs no store. */
	if (!store_command->store) {
		check_no_store(check_list);
		return 0;
	}
	if (storage_probe(store_command->store, options->measure, probe, NULL, err) < 0)
		return -1;
	check_store(probe, store_command->store, options->size, check_list);
	if (store_command->owned_store && network_fs_is_own_disk(store_command->store))
		check_list_add(check_list, "place", CHECK_WARN,
			       "name one that outlives the machine with --store or REPRIEVE_STORE",
			       "this store is on this machine's own disk, and may go with the "
			       "machine");
	return 0;
}

int cmd_doctor(int argc, char **argv)
{
	auto_(store_command_end) struct store_command store_command = {0};
	struct options options = {
		.size = SIZE_DEFAULT,
		.measure = MEASURE_DEFAULT,
		.machine = {.notice = getenv("REPRIEVE_NOTICE"), .grace_ms = GRACE_DEFAULT_MS},
	};
	struct check_list machine, store, slurm;
	struct doctor_findings findings = {.machine = &machine, .store = &store};
	const char *grace = getenv("REPRIEVE_GRACE");
	struct store_probe probe;
	struct err err;
	int code;

	/* What is wrong with it, run will say. */
	if (grace)
		text_to_duration_ms(grace, &options.machine.grace_ms);
	code = store_command_begin_with(argc, argv, &usage, &options, &store_command);
	if (code >= 0)
		return code;
	if (examine_store(&store_command, &options, &probe, &store, &err) < 0)
		return store_command_fail(&store_command, &err);
	options.machine.transfer_ms = check_store_transfer_ms(&probe, options.size);
	inspect_host(&options.machine, &machine);
	if (inspect_slurm(&slurm))
		findings.slurm = &slurm;
	if (store_command.json)
		print_json(store_command.store, &probe, &findings);
	else
		print_findings(&findings);
	return worst_of(&findings) == CHECK_FAIL ? EXIT_FAILURE : 0;
}
