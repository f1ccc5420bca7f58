/* reprieve save: one snapshot of a directory now, without a job. */
#include "base/cleanup.h"
#include "base/file.h"
#include "base/log.h"
#include "scheduler/scheduler.h"
#include "store_command.h"
#include "retention_options.h"
#include "manual_snapshot.h"
#include "cli.h"

static int set_tag(void *arg, const char *value, struct err *err)
{
	((struct saving *)arg)->tag = value;
	return retention_check_tag(value, err);
}

static const struct query_option own_options[] = {
	{"tag", false, set_tag},
	{0},
};

static const struct query_usage usage = {
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
	auto_(query_end) struct query query = {0};
	struct saving saving = {.reason = "request", .outcome = "saved", .step = -1};
	int code = query_begin_with(argc, argv, &usage, &saving, &query);

	if (code >= 0)
		return code;
	/* Before anything is claimed: a mistyped name must not take the running job's place. */
	if (file_directory_state(query.words[0])) {
		log_error("save: %s %s: name a directory with a checkpoint in it", query.words[0],
			file_directory_state(query.words[0]));
		return EXIT_CONFIGURATION;
	}
	saving.directory = query.words[0];
	return saving_run(&query, &saving, "saved");
}
