/* reprieve save: one snapshot of a directory now, without a job. */
#include "base/cleanup.h"
#include "base/file.h"
#include "base/log.h"
#include "cli.h"
#include "manual_snapshot.h"
#include "retention_options.h"
#include "scheduler/scheduler.h"
#include "store_command.h"

static int set_tag(void *arg, const char *value, struct err *err)
{
	((struct manual_snapshot *)arg)->tag = value;
	return retention_check_tag(value, err);
}

static const struct store_command_option own_options[] = {
	{"tag", false, set_tag},
	{0},
};

static const struct store_command_usage usage = {
	.text = "Take one snapshot of a directory, for a job that is not running.\n\n"
		"  reprieve save ./checkpoints --job train\n"
		"  reprieve save ./checkpoints --job train --tag best\n\n"
		"Usage: reprieve save DIR --job NAME [--tag NAME] [--store URL] [--json]\n\n"
		"      --tag NAME   a name for `reprieve forget --keep-tag`\n\n"
		"The directory must not be written to meanwhile. Takes an attempt number, as a run "
		"would:\n"
		"a machine that still runs the job publishes nothing from then on.\n",
	.words = "DIR",
	.words_most = 1,
	.writes = true,
	.moves = true,
	.options = own_options,
};

int cmd_save(int argc, char **argv)
{
	auto_(store_command_end) struct store_command store_command = {0};
	struct manual_snapshot manual_snapshot = {
		.reason = "request",
		.outcome = "saved",
		.step = -1,
	};
	int code = store_command_begin_with(argc, argv, &usage, &manual_snapshot, &store_command);

	if (code >= 0)
		return code;
	/* Before anything is claimed: a mistyped name must not take the running job's place. */
	if (file_directory_state(store_command.words[0])) {
		log_error("save: %s %s: name a directory with a checkpoint in it",
			  store_command.words[0], file_directory_state(store_command.words[0]));
		return EXIT_CONFIGURATION;
	}
	manual_snapshot.directory = store_command.words[0];
	return manual_snapshot_save(&store_command, &manual_snapshot, "saved");
}
