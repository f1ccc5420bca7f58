#include "manual_snapshot.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/progress_bar.h"
#include "base/text.h"
#include "checkpoint_client.h"
#include "control/control.h"
#include "scheduler/scheduler.h"
#include "upload/upload.h"
#include "workspace/workspace.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void print_saved(const struct store_command *store_command, const char *word,
			struct snapshot_id id, const struct save_result *result,
			int64_t milliseconds)
{
	char text[SNAPSHOT_ID_TEXT], size[24], sent[24], time[32];

	snapshot_id_format(id, text);
	if (store_command->json) {
		json_print(json_pack("{s:s, s:i, s:I, s:I, s:f}", "id", text, "files",
				     (int)result->files, "bytes", (json_int_t)result->bytes,
				     "bytes_sent", (json_int_t)result->bytes_sent, "seconds",
				     (double)milliseconds / 1000),
			   true);
		return;
	}
	printf("%s %s: %u file%s, %s (%s written) in %s\n", word, text, result->files,
	       result->files == 1 ? "" : "s", text_bytes(result->bytes, size, sizeof(size)),
	       text_bytes(result->bytes_sent, sent, sizeof(sent)),
	       text_duration(milliseconds, time, sizeof(time)));
}

static void show_progress(void *arg, const struct save_progress *now)
{
	progress_bar_update(arg, now->bytes_done, now->bytes_total);
}

static int save_snapshot(struct storage *storage, const struct manual_snapshot *manual_snapshot,
			 struct save_request *request, struct save_result *result, struct err *err)
{
	auto_json json_t *about =
		manual_snapshot->tag ? json_pack("{s:s}", "tag", manual_snapshot->tag) : NULL;
	struct progress_bar progress;
	struct forget_result forgotten;
	int status;

	request->directory = manual_snapshot->directory;
	request->reason = manual_snapshot->reason;
	request->step = manual_snapshot->step;
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
static void refuse_running(const struct store_command *store_command,
			   const struct attempt_summary *newest, bool here)
{
	const char *host = json_text_or(newest->about, "host", "another machine");
	int pid = (int)json_number_or(newest->about, "supervisor_pid", 0);

	if (here)
		log_error("job %s is running here (pid %d), and saving would take its place: "
			  "`reprieve checkpoint --pid %d` asks it for a checkpoint; --take-over "
			  "saves all the same",
			  store_command->job, pid, pid);
	else
		log_error("job %s may be running: attempt %u, begun %s on %s, has left no end "
			  "record, and saving would take its place. If it is dead, use --take-over",
			  store_command->job, newest->number,
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

struct session_search {
	pid_t pid;
	const char *job;
	char *session; /* its runtime directory; NULL: it is not here */
};

static bool note_session(void *arg, const struct session_info *info)
{
	struct session_search *search = arg;

	if (info->pid == search->pid && text_equal(info->job, search->job))
		search->session = text_copy(info->directory);
	return !search->session;
}

static bool is_same_directory(const char *a, const char *b)
{
	struct stat first, second;

	return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev &&
	       first.st_ino == second.st_ino;
}

/* The directory is the job's own: who saves it is its supervisor. */
static int save_through_supervisor(const struct store_command *store_command, const char *session)
{
	const struct checkpoint_client client = {
		.session = session,
		.timeout_ms = CHECKPOINT_TIMEOUT_MS,
		.json = store_command->json,
	};

	log_note("job %s is running here: its supervisor is asked for a checkpoint "
		 "(--take-over saves the directory as it is)",
		 store_command->job);
	return checkpoint_client_run(&client);
}

/* A claim takes the place of the newest attempt: what that one commits from then on is late.
 * Returns -1 to go on, else the exit code. */
static int yield_to_running(struct store_command *store_command,
			    const struct manual_snapshot *manual_snapshot)
{
	auto_(attempt_history_release) struct attempt_history history = {0};
	auto_free char *session = NULL;
	struct session_search search = {.job = store_command->job};
	const struct attempt_summary *newest;
	struct err err;

	if (storage_history(store_command->storage, 1, &history, NULL, &err) < 0)
		return store_command_fail(store_command, &err);
	newest = history.count > 0 ? &history.items[0] : NULL;
	/* One that was made by hand has no supervisor. */
	if (!newest || newest->ended || !json_object_get(newest->about, "supervisor_pid") ||
	    is_dead_here(newest))
		return -1;
	search.pid = (pid_t)json_number_or(newest->about, "supervisor_pid", 0);
	session_each(note_session, &search);
	session = search.session;
	if (session && manual_snapshot->of_job && !manual_snapshot->tag &&
	    is_same_directory(json_text_or(newest->about, "directory", ""),
			      manual_snapshot->directory))
		return save_through_supervisor(store_command, session);
	refuse_running(store_command, newest, session != NULL);
	return EXIT_CONFIGURATION;
}

int manual_snapshot_save(struct store_command *store_command,
			 const struct manual_snapshot *manual_snapshot, const char *word)
{
	struct claim claim = {.policy = RESTORE_LATEST, .saves_at_once = true};
	struct attempt attempt = {0};
	struct save_request request = {0};
	struct save_result result = {0};
	struct err err;
	int64_t began = clock_monotonic_ms();
	int status;

	/* First: nothing would come of it. */
	if (directory_check_store(manual_snapshot->directory, store_command->store, &err) < 0) {
		log_error("%s: name another directory, or another store", err.text);
		return EXIT_CONFIGURATION;
	}
	if (storage_check_directory(manual_snapshot->directory, NULL, &err) < 0)
		return store_command_fail(store_command, &err);
	status = manual_snapshot->take_over ? -1 : yield_to_running(store_command, manual_snapshot);
	if (status >= 0)
		return status;
	if (storage_claim(store_command->storage, &claim, &attempt, NULL, &err) < 0)
		return store_command_fail(store_command, &err);
	request.id = (struct snapshot_id){attempt.number, 1};
	request.parent = attempt.start;
	if (snapshot_id_is_none(attempt.start) || holds_checkpoint(manual_snapshot->directory))
		status = save_snapshot(store_command->storage, manual_snapshot, &request, &result,
				       &err);
	else
		status = err_set(&err, ERR_UNFIT,
				 "%s holds logs and texts, and no checkpoint: a snapshot of it "
				 "would be what job %s continues from. Name the directory with its "
				 "checkpoints",
				 manual_snapshot->directory, store_command->job);
	storage_end_attempt(store_command->storage, attempt.number,
			    status == 0 ? manual_snapshot->outcome : "failed", NULL, NULL, NULL);
	attempt_release(&attempt);
	if (status < 0)
		return store_command_fail(store_command, &err);
	skipped_files_report(&result, manual_snapshot->directory);
	print_saved(store_command, word, request.id, &result, clock_monotonic_ms() - began);
	return 0;
}
