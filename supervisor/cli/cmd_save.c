/* reprieve save: one snapshot of a directory now, without a job. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/text.h"
#include "control/control.h"
#include "scheduler/scheduler.h"
#include "status_text.h"
#include "store_command.h"
#include "upload/upload.h"
#include "verbs.h"
#include "workspace/workspace.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct save_options {
	struct store_command store_command;
	const char *directory;
	const char *tag; /* NULL: none */
	bool take_over;  /* of a job that may be running */
};

// clang-format off
static const struct option_row own_rows[] = {
	{"tag", 0, "TAG", NULL, "a name for `reprieve forget --keep-tag`", .set = retention_set_tag,
		.at = offsetof(struct save_options, tag)},
	{"take-over", 0, NULL, NULL,
		"also of a job that may be running: what that run saves from then on does not count",
		OPTION_FLAG(struct save_options, take_over)},
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
		OPTION_GROUP("Snapshot", own_rows, 0),
		STORE_COMMAND_TRANSFER,
		STORE_COMMAND_BANDWIDTH,
		STORE_COMMAND_OTHER,
	},
	.notes = "The directory must not be written to meanwhile. Takes an attempt number, as a run would. "
		"If the job runs here in DIR, its supervisor is asked instead. More: `man reprieve`",
	.exits = store_command_exits,
};
// clang-format on

static void print_saved(const struct store_command *command, struct snapshot_id id,
			const struct save_result *result, int64_t milliseconds)
{
	char text[SNAPSHOT_ID_TEXT];
	auto_json json_t *saved =
		json_pack("{s:s, s:i, s:I, s:I, s:f}", "id", snapshot_id_format(id, text), "files",
			  (int)result->files, "bytes", (json_int_t)result->bytes, "bytes_sent",
			  (json_int_t)result->bytes_sent, "seconds", (double)milliseconds / 1000);

	if (command->json)
		json_print(steal(&saved), true);
	else
		json_say("saved {id}: {files} file{files:s}, {bytes:bytes} ({bytes_sent:bytes} "
			 "written) in {seconds:time}",
			 saved);
}

static void show_progress(void *arg, const struct save_progress *now)
{
	progress_bar_update(arg, now->bytes_done, now->bytes_total);
}

static int save_snapshot(struct storage *storage, const struct save_options *options,
			 struct save_request *request, struct save_result *result, struct err *err)
{
	auto_json json_t *about = options->tag ? json_pack("{s:s}", "tag", options->tag) : NULL;
	struct progress_bar progress;
	struct forget_result forgotten;
	int status;

	request->directory = options->directory;
	request->reason = "request";
	request->step = -1;
	request->about = about;
	request->progress = show_progress;
	request->arg = &progress;
	progress_bar_start(&progress, "saving");
	status = storage_save(storage, request, result, NULL, err);
	if (status < 0 &&
	    (result->store_lacks ||
	     (err->kind == ERR_NO_SPACE &&
	      storage_make_room(storage, request->id.attempt, NULL, &forgotten, NULL, err))))
		status = storage_save(storage, request, result, NULL, err);
	progress_bar_stop(&progress);
	return status;
}

/* A snapshot without a checkpoint would take the place of one that has one. */
static bool holds_checkpoint(const char *directory)
{
	auto_(snapshot_files_release) struct snapshot_files files = {0};

	if (file_list_read(directory, &files, NULL) < 0)
		return true;
	for (size_t i = 0; i < files.count; i++)
		if (!companion_file_is(files.items[i].path) &&
		    file_patterns_kind(NULL, files.items[i].path) == FILE_KIND_ORDINARY)
			return true;
	return false;
}

/* Of the newest attempt, which has left no end record: "attempt 3 on host-7, since ...". */
static void refuse_running(const struct store_command *command,
			   const struct attempt_summary *newest, bool here)
{
	const char *host = json_text_or(newest->about, "host", "another machine");
	int pid = (int)json_number_or(newest->about, "supervisor_pid", 0);

	if (here)
		log_error("job %s is running here (pid %d), and saving would take its place: "
			  "`reprieve checkpoint --pid %d` asks it; or --take-over",
			  command->job, pid, pid);
	else
		log_error("job %s may be running: attempt %u, begun %s on %s, has no end record: "
			  "if it is dead, --take-over takes its place",
			  command->job, newest->number,
			  newest->created[0] ? newest->created : "at an unknown time", host);
}

/* Was this attempt's supervisor on this machine, and is it gone? */
static bool is_dead_here(const struct attempt_summary *newest)
{
	char host[65] = "";
	pid_t pid = (pid_t)json_number_or(newest->about, "supervisor_pid", 0);

	gethostname(host, sizeof(host) - 1);
	return pid > 0 && text_equal(json_text_or(newest->about, "host", ""), host) &&
	       kill(pid, 0) < 0 && errno == ESRCH;
}

static bool is_same_directory(const char *a, const char *b)
{
	struct stat first, second;

	return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev &&
	       first.st_ino == second.st_ino;
}

/* The directory is the job's own: who saves it is its supervisor. */
static int save_through_supervisor(const struct store_command *command, const char *session)
{
	const struct checkpoint_client client = {
		.session = session,
		.timeout_ms = CHECKPOINT_TIMEOUT_MS,
		.json = command->json,
	};

	log_note("job %s is running here: its supervisor is asked for a checkpoint (--take-over "
		 "saves the directory as it is)",
		 command->job);
	return checkpoint_client_run(&client);
}

/* A claim takes the place of the newest attempt: what that one commits from then on is late.
 * Returns -1 to go on, else the exit code. */
static int yield_to_running(struct store_command *command, const struct save_options *options)
{
	auto_(attempt_history_release) struct attempt_history history = {0};
	auto_(session_list_release) struct session_list sessions = {0};
	const char *session = NULL;
	const struct attempt_summary *newest;
	struct err err;

	if (storage_history(command->storage, 1, &history, NULL, &err) < 0)
		return store_command_fail(command, &err);
	newest = history.count > 0 ? &history.items[0] : NULL;
	/* One that was made by hand has no supervisor. */
	if (!newest || newest->ended || !json_object_get(newest->about, "supervisor_pid") ||
	    is_dead_here(newest))
		return -1;
	session_find(&sessions, false, command->job);
	for (size_t i = 0; i < sessions.count; i++)
		if (sessions.items[i].pid == json_number_or(newest->about, "supervisor_pid", 0))
			session = sessions.items[i].directory;
	if (session && !options->tag &&
	    is_same_directory(json_text_or(newest->about, "directory", ""), options->directory))
		return save_through_supervisor(command, session);
	refuse_running(command, newest, session != NULL);
	return EXIT_CONFIGURATION;
}

static int save(struct store_command *command, const struct save_options *options)
{
	struct claim claim = {.policy = RESTORE_LATEST, .saves = true};
	struct attempt attempt = {0};
	struct save_request request = {0};
	struct save_result result = {0};
	struct err err;
	int64_t began = clock_monotonic_ms();
	int status;

	/* First: nothing would come of it. */
	if (directory_check_store(options->directory, command->store, &err) < 0) {
		log_error("%s: name another directory, or another store", err.text);
		return EXIT_CONFIGURATION;
	}
	if (storage_check_directory(options->directory, NULL, &err) < 0)
		return store_command_fail(command, &err);
	status = options->take_over ? -1 : yield_to_running(command, options);
	if (status >= 0)
		return status;
	if (storage_claim(command->storage, &claim, &attempt, NULL, &err) < 0)
		return store_command_fail(command, &err);
	request.id = (struct snapshot_id){attempt.number, 1};
	request.parent = attempt.start;
	if (snapshot_id_is_none(attempt.start) || holds_checkpoint(options->directory))
		status = save_snapshot(command->storage, options, &request, &result, &err);
	else
		status = err_set(&err, ERR_UNFIT,
				 "%s holds no checkpoint, and job %s would continue from a "
				 "snapshot of it: name the directory with its checkpoints",
				 options->directory, command->job);
	/* Its claim says that it is by hand, and its snapshot that it is through. */
	if (status < 0)
		storage_end_attempt(command->storage, attempt.number, "failed", NULL, NULL, NULL);
	attempt_release(&attempt);
	if (status < 0)
		return store_command_fail(command, &err);
	skipped_files_report(&result, options->directory);
	print_saved(command, request.id, &result, clock_monotonic_ms() - began);
	return 0;
}

int cmd_save(int argc, char **argv)
{
	auto_(store_command_end) struct save_options options = {.store_command.writes = true};
	int code = store_command_begin(&verb_save, argc, argv, &options);

	if (code >= 0)
		return code;
	options.directory = options.store_command.words[0];
	/* Before anything is claimed: a mistyped name must not take the running job's place. */
	if (file_directory_state(options.directory)) {
		log_error("save: %s %s: not a directory with checkpoint files", options.directory,
			  file_directory_state(options.directory));
		return EXIT_CONFIGURATION;
	}
	return save(&options.store_command, &options);
}
