/* reprieve doctor: looks at this machine and tries a store, before a job depends on them, and
 * says what to mend. */
#include "base/cleanup.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "doctor/doctor.h"
#include "store_command.h"
#include "verbs.h"
#include "workspace/workspace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEASURE_DEFAULT ((uint64_t)64 << 20)
#define MEASURE_MOST ((uint64_t)512 << 20)

#define GRACE_DEFAULT_MS 30000

struct check_options {
	struct store_command store_command;
	uint64_t size, measure;
	const char *also;
	struct host_facts machine;
};

// clang-format off
static const struct option_row own_rows[] = {
	{"size", 0, "SIZE", NULL, "of a checkpoint: does it fit in a notice?",
		OPTION_SIZE(struct check_options, size)},
	{"measure", 0, "SIZE", NULL,
		"how much is sent and read back to measure (default: 64MiB; 0: nothing)",
		OPTION_SIZE(struct check_options, measure), .most = MEASURE_MOST},
	{"also", 0, "DIR", NULL, "the store's directory through a second mount of it, as "
		"another machine has one",
		OPTION_TEXT(struct check_options, also)},
	{"notice", 0, "LIST", "REPRIEVE_NOTICE", "who announces a preemption, as for `reprieve "
		"run`",
		OPTION_TEXT(struct check_options, machine.notice),
		.choices = "auto none aws gcp azure alibaba tencent slurm"},
	{"grace", 0, "SECONDS", NULL,
		"time from SIGTERM to SIGKILL here, as for `reprieve run` (default: "
		"REPRIEVE_GRACE, else 30)",
		OPTION_DURATION(struct check_options, machine.grace_ms)},
	{0},
};

const struct verb verb_doctor = {
	.name = "doctor",
	.summary = "look at this machine and try a store, before a job depends on them",
	.examples = "reprieve doctor\n"
		"reprieve doctor --store s3://bucket/runs --size 40GB",
	.groups = (const struct option_group[]){
		STORE_COMMAND_STORE_ALONE,
		OPTION_GROUP("Machine and checkpoint", own_rows, 0),
		STORE_COMMAND_OTHER},
	.notes = "Looks at who announces a preemption, the preload library, process 1, the time to save, the "
		"store and its credentials, and the scheduler. What it writes in the store is removed again.",
	.exits = (const struct help_row[]){
		{"0", "nothing failed"},
		{"1", "something failed"},
		{0},
	},
};
// clang-format on

static json_t *rate_json(const struct store_probe *probe, enum probe_step step)
{
	const struct probe_result *answer = &probe->steps[step];

	if (!answer->worked)
		return json_null();
	return json_integer((json_int_t)(probe->bytes * 1000 /
					 (uint64_t)(answer->took_ms > 0 ? answer->took_ms : 1)));
}

struct section {
	const char *title, *name; /* for people, and in JSON */
	struct check_list list;
};

static void print_section(const struct section *section, const char *before)
{
	printf("%s%s:\n", before, section->title);
	for (size_t i = 0; i < section->list.count; i++) {
		const struct check_result *row = &section->list.rows[i];

		terminal_line_print("%-4s  %-9s  %s", check_level_name(row->level), row->check,
				    row->text);
		if (row->fix[0])
			terminal_line_print("%-4s  %-9s  ->  %s", "", "", row->fix);
	}
}

static json_t *section_json(const struct section *section)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < section->list.count; i++) {
		const struct check_result *row = &section->list.rows[i];

		json_array_append_new(rows,
				      json_pack("{s:s, s:s, s:s, s:s?}", "check", row->check,
						"level", check_level_name(row->level), "text",
						row->text, "fix", row->fix[0] ? row->fix : NULL));
	}
	return rows;
}

static void examine_mounts(const struct check_options *options, struct check_list *check_list)
{
	const char *store = options->store_command.store;
	const char *path = text_starts(store, "file:///") ? store + strlen("file://") : NULL;
	const char *network = path ? network_fs_of(path) : NULL;
	auto_free char *place = options->also ? file_absolute(options->also) : NULL;
	auto_free char *also = place ? text_format("file://%s", place) : NULL;
	struct probe_result answer = {0};

	if (also && !path)
		check_add(check_list,
			  &(struct check_finding){"mounts", CHECK_FAIL,
						  "--also is for a file:// store", ""},
			  NULL, NULL);
	else if (also)
		storage_probe_mounts(store, also, &answer);
	if (answer.tried || network)
		check_mounts(network, &answer, check_list);
}

static const struct check_finding own_disk =
	{"place", CHECK_WARN,
	 "this store is on this machine's own disk, and may go with the machine",
	 "name one that outlives the machine with --store or REPRIEVE_STORE"};

static int examine_store(const struct check_options *options, struct store_probe *probe,
			 struct check_list *check_list, struct err *err)
{
	const struct store_command *command = &options->store_command;

	*probe = (struct store_probe){0};
	/* The rest is worth knowing all the same: an init needs no store. */
	if (!command->store) {
		check_no_store(check_list);
		return 0;
	}
	if (storage_probe(command->store, options->measure, probe, NULL, err) < 0)
		return -1;
	check_store(probe, command->store, options->size, check_list);
	if (probe->steps[PROBE_IF_ABSENT].worked)
		examine_mounts(options, check_list);
	if (network_fs_is_own_disk(command->store))
		check_add(check_list, &own_disk, NULL, NULL);
	return 0;
}

int cmd_doctor(int argc, char **argv)
{
	auto_(store_command_end) struct check_options options = {
		.store_command.no_job = true,
		.measure = MEASURE_DEFAULT,
		.machine.grace_ms = GRACE_DEFAULT_MS,
	};
	struct section sections[] = {
		{.title = "This machine", .name = "machine"},
		{.title = "The store", .name = "checks"},
		{.title = "Slurm", .name = "slurm"},
	};
	const char *store = NULL, *batch;
	enum check_level worst = CHECK_OK;
	size_t count = 2;
	const char *grace = getenv("REPRIEVE_GRACE");
	struct store_probe probe;
	struct err err;
	int code;

	/* What is wrong with it, run will say. */
	if (grace)
		text_to_duration_ms(grace, &options.machine.grace_ms);
	code = store_command_begin(&verb_doctor, argc, argv, &options);
	if (code >= 0)
		return code;
	if (examine_store(&options, &probe, &sections[1].list, &err) < 0)
		return store_command_fail(&options.store_command, &err);
	options.machine.transfer_ms = check_store_transfer_ms(&probe, options.size);
	inspect_host(&options.machine, &sections[0].list);
	/* Whose job this is says more than whose programs are installed. */
	batch = inspect_batch(options.machine.grace_ms, &sections[2].list);
	if (batch) {
		sections[2].title = batch;
		sections[2].name = "batch";
	}
	if (batch || inspect_slurm(&sections[2].list))
		count = 3;
	store = options.store_command.store;
	for (size_t i = 0; i < count; i++)
		if (sections[i].list.worst > worst)
			worst = sections[i].list.worst;
	if (options.store_command.json) {
		json_t *all = json_pack("{s:s?, s:s, s:o, s:o}", "store", store, "level",
					check_level_name(worst), "up_bytes_per_second",
					rate_json(&probe, PROBE_UPLOAD), "down_bytes_per_second",
					rate_json(&probe, PROBE_DOWNLOAD));

		for (size_t i = 0; i < count; i++)
			json_object_set_new(all, sections[i].name, section_json(&sections[i]));
		json_print(all, true);
		count = 0;
	}
	for (size_t i = 0; i < count; i++)
		print_section(&sections[i], i > 0 ? "\n" : "");
	return worst == CHECK_FAIL ? EXIT_FAILURE : 0;
}
