/* reprieve restore: a snapshot into a directory, without a job. */
#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/held_directory.h"
#include "base/json.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/text.h"
#include "scheduler/scheduler.h"
#include "status_text.h"
#include "store_command.h"
#include "verbs.h"
#include "workspace/workspace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct restore_options {
	struct store_command store_command;
	struct file_patterns wanted, unwanted; /* what is included; what is excluded */
	struct progress_bar progress;
	int member; /* -1: all */
};

static int add_include(void *options, const char *value, struct err *err)
{
	return file_patterns_add(&((struct restore_options *)options)->wanted.include, value, err);
}

static int add_exclude(void *options, const char *value, struct err *err)
{
	return file_patterns_add(&((struct restore_options *)options)->unwanted.exclude, value,
				 err);
}

// clang-format off
static const struct option_row selection_rows[] = {
	{"include", 0, "GLOB", NULL, "only what matches; may be given several times",
		.set = add_include},
	{"exclude", 0, "GLOB", NULL, "not what matches; may be given several times",
		.set = add_exclude},
	{0},
};

const struct verb verb_restore = {
	.name = "restore",
	.summary = "put a snapshot into a directory",
	.examples = "reprieve restore latest ./checkpoints\n"
		"reprieve restore 3-12 /tmp/look --store file:///mnt/share/runs --job train\n"
		"reprieve restore latest /tmp/look --include '*.safetensors' --exclude optim\n"
		"reprieve restore latest /tmp/look --member 2",
	.arguments = "ID|latest DIR",
	.arguments_least = 2,
	.arguments_most = 2,
	.groups = (const struct option_group[]){
		STORE_COMMAND_STORE,
		OPTION_GROUP("Files", selection_rows, 0),
		OPTION_GROUP(NULL, one_member_rows, offsetof(struct restore_options, member)),
		STORE_COMMAND_TRANSFER,
		STORE_COMMAND_OTHER,
	},
	.notes = "A pattern without '/' is compared with every part of a path, one with '/' with "
		"the path from its beginning; both take what lies below, too.\n"
		"DIR must be empty or not there. It appears whole, or not at all.",
	.exits = store_command_exits,
};
// clang-format on

static bool is_wanted(void *arg, const char *path)
{
	const struct restore_options *options = arg;

	return (options->wanted.include.count == 0 ||
		file_patterns_match(&options->wanted, path)) &&
	       !file_patterns_match(&options->unwanted, path);
}

static void show_progress(void *arg, uint64_t bytes_done, uint64_t bytes_total)
{
	progress_bar_update(&((struct restore_options *)arg)->progress, bytes_done, bytes_total);
}

static int restore_to_staging(struct restore_options *options, struct restore_request *request,
			      struct restore_result *result, struct err *err)
{
	int status;

	if (options->wanted.include.count > 0 || options->unwanted.exclude.count > 0)
		request->include = is_wanted;
	request->progress = show_progress;
	request->arg = options;
	progress_bar_start(&options->progress, "restoring");
	status = storage_restore(options->store_command.storage, request, result, NULL, err);
	progress_bar_stop(&options->progress);
	if (status == 0 && request->include && result->files == 0)
		return err_set(err, ERR_NOT_FOUND,
			       "no file of the snapshot is meant by these --include and --exclude");
	return status;
}

static void print_restored(const struct store_command *command, struct snapshot_id id,
			   const char *directory, const struct restore_result *result,
			   int64_t milliseconds)
{
	char text[SNAPSHOT_ID_TEXT];
	auto_free char *printable = text_copy(directory);
	auto_json json_t *restored = NULL;

	text_to_utf8(printable);
	restored =
		json_pack("{s:s, s:s, s:o, s:i, s:I, s:I, s:f}", "id", snapshot_id_format(id, text),
			  "directory", printable, "step", json_integer_or_null(result->step),
			  "files", (int)result->files, "bytes", (json_int_t)result->bytes,
			  "bytes_fetched", (json_int_t)result->bytes_fetched, "seconds",
			  (double)milliseconds / 1000);
	if (command->json)
		json_print(steal(&restored), true);
	else
		json_say("restored {id} into {directory}: {files} file{files:s}, {bytes:bytes} in "
			 "{seconds:time}",
			 restored);
}

/* -1 to go on. */
static int check_target(const struct store_command *command, const char *directory)
{
	const char *state = file_directory_state(directory);
	struct err err;

	if (directory_check_store(directory, command->store, &err) < 0)
		log_error("restore: %s: choose another directory", err.text);
	else if (!file_exists(directory) ||
		 (file_is_directory(directory) && file_directory_is_empty(directory)))
		return -1;
	else
		log_error("%s %s: choose a directory that is empty or not there", directory,
			  state ? state : "is not empty");
	return EXIT_CONFIGURATION;
}

/* Makes it beside the directory, in `parent`, and then gives it its name. An error names what the
 * user has given. */
static int restore_beside(struct restore_options *options, int parent, const char *name,
			  const char *directory, struct restore_request *request,
			  struct restore_result *result, struct err *err)
{
	auto_free char *staging = NULL;
	char nonce[33];

	random_hex(nonce);
	staging = text_format("%s.restore-%.8s", name, nonce);
	request->directory = staging;
	request->within = parent;
	if (mkdirat(parent, staging, 0777) < 0)
		return err_os(err, errno, "cannot make directory %s", directory);
	if (restore_to_staging(options, request, result, err) < 0) {
		(void)beneath_remove_tree(parent, staging, NULL);
		return -1;
	}
	/* rename(2) replaces an empty directory in one step. */
	if (beneath_rename(parent, staging, parent, name) == 0)
		return 0;
	err_os(err, errno, "cannot put %s in place", directory);
	(void)beneath_remove_tree(parent, staging, NULL);
	return -1;
}

static int restore_into(struct restore_options *options, struct snapshot_id id,
			const char *directory)
{
	const char *slash = strrchr(directory, '/');
	auto_free char *above =
		text_copy_n(directory, slash > directory ? (size_t)(slash - directory) : 1);
	struct store_command *command = &options->store_command;
	struct restore_request request = {.id = id};
	struct restore_result result = {0};
	struct err err;
	const char *name;
	int64_t began = clock_monotonic_ms();
	auto_close int parent = held_directory_open_above(directory, &name, &err);

	if (parent < 0 && err.kind == ERR_NOT_FOUND)
		parent = held_directory_make(above, 0777, &err);
	if (parent < 0)
		return store_command_fail_snapshot(command, request.id, &err);
	while (restore_beside(options, parent, name, directory, &request, &result, &err) < 0)
		if (!store_command_find_again(command, command->words[0], &request.id, &err))
			return store_command_fail_snapshot(command, request.id, &err);
	print_restored(command, request.id, directory, &result, clock_monotonic_ms() - began);
	return 0;
}

int cmd_restore(int argc, char **argv)
{
	auto_(store_command_end) struct restore_options options = {.member = -1};
	auto_free char *directory = NULL;
	struct store_command *command = &options.store_command;
	struct snapshot_id id;
	struct err err;
	int code = store_command_begin(&verb_restore, argc, argv, &options);

	if (code < 0)
		code = store_command_find_snapshot(command, command->words[0], &id);
	if (code < 0) {
		directory = held_directory_resolve(command->words[1], &err);
		code = directory ? check_target(command, directory)
				 : store_command_fail(command, &err);
	}
	if (code < 0 && options.member >= 0)
		storage_gang_look_at(command->storage, (uint32_t)options.member);
	if (directory && code < 0)
		code = restore_into(&options, id, directory);
	file_patterns_release(&options.wanted);
	file_patterns_release(&options.unwanted);
	return code;
}
