/* reprieve import: makes a snapshot of what others have written: a tar, a directory, plain
 * objects of a store. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/progress_bar.h"
#include "base/text.h"
#include "cli.h"
#include "manual_snapshot.h"
#include "retention_options.h"
#include "scheduler/scheduler.h"
#include "store_command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct options {
	const char *scratch, *tag;
	int64_t step;
};

static int set_scratch(void *arg, const char *value, struct err *err)
{
	(void)err;
	((struct options *)arg)->scratch = value;
	return 0;
}

static int set_tag(void *arg, const char *value, struct err *err)
{
	((struct options *)arg)->tag = value;
	return retention_check_tag(value, err);
}

static int set_step(void *arg, const char *value, struct err *err)
{
	uint64_t step;

	if (!text_to_u64(value, INT64_MAX, &step))
		return err_set(err, ERR_INVALID, "'%s' is no number", value);
	((struct options *)arg)->step = (int64_t)step;
	return 0;
}

static const struct store_command_option own_options[] = {
	{"scratch", false, set_scratch},
	{"tag", false, set_tag},
	{"step", false, set_step},
	{0},
};

static const struct store_command_usage usage = {
	.text = "Make a snapshot of a checkpoint that something else has written.\n\n"
		"  reprieve import old-run.tar.gz --job train\n"
		"  reprieve import ./checkpoints --job train --step 12000\n"
		"  reprieve import s3://bucket/runs/7/checkpoints --job train\n"
		"  curl -s https://example.org/model.tar | reprieve import - --job train\n\n"
		"Usage: reprieve import TAR|-|DIR|URL --job NAME [--store URL] [--json]\n\n"
		"      --step N        the step that it was saved at\n"
		"      --tag NAME      as for `reprieve save`\n"
		"      --scratch DIR   where to unpack meanwhile (default: $TMPDIR, else "
		"/var/tmp)\n\n"
		"A tar may be compressed in any way that libarchive reads. Takes an attempt "
		"number, as a run would:\n"
		"a machine that still runs the job publishes nothing from then on.\n",
	.words = "ARCHIVE|-|DIR|URL",
	.words_most = 1,
	.writes = true,
	.moves = true,
	.options = own_options,
};

static char *make_scratch(const struct options *options, struct err *err)
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

static int unpack_archive(const char *name, const char *directory, struct import_result *result,
			  struct err *err)
{
	bool standard = text_equal(name, "-");
	auto_close int fd = standard ? dup(STDIN_FILENO) : open(name, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_os(err, errno, "%s", name);
	if (storage_import_archive(fd, directory, result, NULL, err) < 0)
		return err_wrap(err, "%s", standard ? "standard input" : name);
	return 0;
}

static int collect_objects(const char *url, const char *directory, struct import_result *result,
			   struct err *err)
{
	struct progress_bar progress;
	int status;

	progress_bar_start(&progress, "fetching", true);
	status = storage_import_objects(url, directory, progress_bar_update, &progress, result,
					NULL, err);
	progress_bar_stop(&progress);
	return status;
}

static int import_directory(struct store_command *store_command, const struct options *options,
			    const char *directory)
{
	struct manual_snapshot manual_snapshot = {
		.directory = directory,
		.reason = "import",
		.outcome = "imported",
		.step = options->step,
		.tag = options->tag,
	};

	return manual_snapshot_save(store_command, &manual_snapshot, "imported");
}

static int import_through_scratch(struct store_command *store_command,
				  const struct options *options, const char *source)
{
	struct import_result result = {0};
	struct err err;
	auto_free char *scratch = make_scratch(options, &err);
	int code, status;

	if (!scratch)
		return store_command_fail(store_command, &err);
	status = strstr(source, "://") ? collect_objects(source, scratch, &result, &err)
				       : unpack_archive(source, scratch, &result, &err);
	if (status == 0 && result.left_out > 0)
		log_warn("%u thing%s in %s left out: devices, sockets, names that lead out",
			 result.left_out, result.left_out == 1 ? "" : "s", source);
	code = status < 0 ? store_command_fail(store_command, &err)
			  : import_directory(store_command, options, scratch);
	if (file_remove_tree(scratch, &err) < 0)
		log_warn("%s", err.text);
	return code;
}

int cmd_import(int argc, char **argv)
{
	auto_(store_command_end) struct store_command store_command = {0};
	struct options options = {.step = -1};
	const char *source;
	int code = store_command_begin_with(argc, argv, &usage, &options, &store_command);

	if (code >= 0)
		return code;
	source = store_command.words[0];
	if (!strstr(source, "://") && file_is_directory(source))
		return import_directory(&store_command, &options, source);
	return import_through_scratch(&store_command, &options, source);
}
