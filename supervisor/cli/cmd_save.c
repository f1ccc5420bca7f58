/* reprieve save: one snapshot of a directory now, without a job. */
#include "base/cleanup.h"
#include "base/file.h"
#include "base/log.h"
#include "manual_snapshot.h"
#include "options/options.h"
#include "scheduler/scheduler.h"
#include "store_command.h"
#include "verbs.h"

struct save_options {
	struct store_command store_command;
	struct manual_snapshot manual_snapshot;
};

// clang-format off
static const struct option_row own_rows[] = {
	{"tag", 0, "TAG", NULL, "a name for `reprieve forget --keep-tag`", .set = retention_set_tag,
		.at = offsetof(struct manual_snapshot, tag)},
	MANUAL_SNAPSHOT_TAKE_OVER(struct manual_snapshot, take_over),
	{0},
};

const struct verb verb_save = {
	.name = "save",
	.summary = "take one snapshot of a directory, for a job that is not running",
	.examples = "reprieve save ./checkpoints --job train\n"
		"reprieve save ./checkpoints --job train --tag best",
	.arguments = "DIR --job NAME",
	.arguments_least = 1,
	.arguments_most = 1,
	.groups = (const struct option_group[]){
		STORE_COMMAND_STORE,
		OPTION_GROUP("Snapshot", own_rows, offsetof(struct save_options, manual_snapshot)),
		STORE_COMMAND_TRANSFER,
		STORE_COMMAND_BANDWIDTH,
		STORE_COMMAND_OTHER,
	},
	.notes = "The directory must not be written to meanwhile. Takes an attempt number, as a "
		"run would. If the job runs here, and DIR is its directory, its supervisor is asked "
		"for a checkpoint instead, as by `reprieve checkpoint`. Otherwise it is refused if "
		"the job may be running: its newest attempt has left no end record.",
	.exits = store_command_exits,
};
// clang-format on

int cmd_save(int argc, char **argv)
{
	auto_(store_command_end) struct save_options options = {
		.store_command.writes = true,
		.manual_snapshot =
			{.reason = "request", .outcome = "saved", .step = -1, .of_job = true},
	};
	struct manual_snapshot *manual_snapshot = &options.manual_snapshot;
	int code = store_command_begin(&verb_save, argc, argv, &options);

	if (code >= 0)
		return code;
	manual_snapshot->directory = options.store_command.words[0];
	/* Before anything is claimed: a mistyped name must not take the running job's place. */
	if (file_directory_state(manual_snapshot->directory)) {
		log_error("save: %s %s: not a directory with checkpoint files",
			  manual_snapshot->directory,
			  file_directory_state(manual_snapshot->directory));
		return EXIT_CONFIGURATION;
	}
	return manual_snapshot_save(&options.store_command, manual_snapshot, "saved");
}
