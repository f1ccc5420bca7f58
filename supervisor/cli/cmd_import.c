/* reprieve import: makes a snapshot of what others have written: a tar, a directory, plain
 * objects of a store. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/progress_bar.h"
#include "base/text.h"
#include "manual_snapshot.h"
#include "options/options.h"
#include "scheduler/scheduler.h"
#include "store_command.h"
#include "verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

struct import_options {
	struct store_command store_command;
	const char *scratch, *tag;
	int64_t step;
	uint64_t most; /* bytes; 0: not given */
	bool take_over;
};

// clang-format off
static const struct option_row own_rows[] = {
	{"step", 0, "N", NULL, "the step that it was saved at",
		OPTION_NUMBER(struct import_options, step)},
	{"tag", 0, "TAG", NULL, "a name for `reprieve forget --keep-tag`", .set = retention_set_tag,
		.at = offsetof(struct import_options, tag)},
	{"scratch", 0, "DIR", NULL, "where to unpack meanwhile (default: $TMPDIR, else /var/tmp)",
		OPTION_TEXT(struct import_options, scratch)},
	{"max-size", 0, "SIZE", NULL,
		"refuse what becomes more than that, holes included (default: what the scratch "
		"directory has room for)",
		OPTION_SIZE(struct import_options, most)},
	MANUAL_SNAPSHOT_TAKE_OVER(struct import_options, take_over),
	{0},
};

const struct verb verb_import = {
	.name = "import",
	.summary = "make a snapshot of a checkpoint that something else has written",
	.examples = "reprieve import old-run.tar.gz --job train\n"
		"reprieve import ./checkpoints --job train --step 12000\n"
		"reprieve import s3://bucket/runs/7/checkpoints --job train\n"
		"curl -s https://example.org/model.tar | reprieve import - --job train",
	.arguments = "FILE|-|DIR|URL --job NAME",
	.arguments_least = 1,
	.arguments_most = 1,
	.groups = (const struct option_group[]){
		STORE_COMMAND_STORE,
		OPTION_GROUP("Snapshot", own_rows, 0),
		STORE_COMMAND_TRANSFER,
		STORE_COMMAND_BANDWIDTH,
		STORE_COMMAND_OTHER,
	},
	.notes = "FILE is a tar, and may be compressed in any way that libarchive reads. Takes an "
		"attempt number, as a run would. It is refused if the job may be running: its "
		"newest attempt has left no end record.",
	.exits = store_command_exits,
};
// clang-format on

static char *make_scratch(const struct import_options *options, struct err *err)
{
	const char *place = options->scratch ? options->scratch : getenv("TMPDIR");
	char *directory;

	if (!place || !*place)
		place = "/var/tmp";
	directory = text_format("%s/reprieve-import-XXXXXX", place);
	if (mkdtemp(directory))
		return directory;
	err_os(err, errno, "cannot make a directory in %s (choose another with --scratch)", place);
	free(directory);
	return NULL;
}

/* Ten kilobytes of an archive can become a terabyte, sparse or not. */
static uint64_t bytes_allowed(const struct import_options *options, const char *scratch)
{
	struct statvfs space;

	if (options->most > 0)
		return options->most;
	return statvfs(scratch, &space) == 0 ? (uint64_t)space.f_bavail * space.f_frsize
					     : UINT64_MAX;
}

static int unpack_archive(const char *name, const char *directory, uint64_t most,
			  struct import_result *result, struct err *err)
{
	bool standard = text_equal(name, "-");
	auto_close int fd = standard ? dup(STDIN_FILENO) : open(name, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_os(err, errno, "%s", name);
	if (storage_import_archive(fd, directory, most, result, NULL, err) < 0)
		return err_wrap(err, "%s", standard ? "standard input" : name);
	return 0;
}

static int collect_objects(const char *url, const char *directory, uint64_t most,
			   struct import_result *result, struct err *err)
{
	struct progress_bar progress;
	int status;

	progress_bar_start(&progress, "fetching");
	status = storage_import_objects(url, directory, most, progress_bar_update, &progress,
					result, NULL, err);
	progress_bar_stop(&progress);
	return status;
}

static int import_directory(struct import_options *options, const char *directory)
{
	struct manual_snapshot manual_snapshot = {
		.directory = directory,
		.reason = "import",
		.outcome = "imported",
		.step = options->step,
		.tag = options->tag,
		.take_over = options->take_over,
	};

	return manual_snapshot_save(&options->store_command, &manual_snapshot, "imported");
}

static int import_through_scratch(struct import_options *options, const char *source)
{
	struct import_result result = {0};
	struct err err;
	auto_free char *scratch = make_scratch(options, &err);
	uint64_t most;
	int code, status;

	if (!scratch)
		return store_command_fail(&options->store_command, &err);
	most = bytes_allowed(options, scratch);
	status = strstr(source, "://") ? collect_objects(source, scratch, most, &result, &err)
				       : unpack_archive(source, scratch, most, &result, &err);
	if (status < 0 && err.kind == ERR_NO_SPACE)
		err_wrap(&err, "not imported (see --max-size and --scratch)");
	if (status == 0 && result.left_out > 0)
		log_warn("%u thing%s in %s left out: devices, sockets, names that lead out",
			 result.left_out, result.left_out == 1 ? "" : "s", source);
	code = status < 0 ? store_command_fail(&options->store_command, &err)
			  : import_directory(options, scratch);
	if (file_remove_tree(scratch, &err) < 0)
		log_warn("%s", err.text);
	return code;
}

int cmd_import(int argc, char **argv)
{
	auto_(store_command_end) struct import_options options = {
		.store_command.writes = true,
		.step = -1,
	};
	const char *source;
	int code = store_command_begin(&verb_import, argc, argv, &options);

	if (code >= 0)
		return code;
	source = options.store_command.words[0];
	if (!strstr(source, "://") && file_is_directory(source))
		return import_directory(&options, source);
	return import_through_scratch(&options, source);
}
