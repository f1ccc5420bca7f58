#include "manual_snapshot.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/progress_bar.h"
#include "base/text.h"
#include "scheduler/scheduler.h"
#include "upload/upload.h"
#include "workspace/workspace.h"

#include <stdio.h>

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
	int status;

	request->directory = manual_snapshot->directory;
	request->reason = manual_snapshot->reason;
	request->step = manual_snapshot->step;
	request->about = about;
	request->progress = show_progress;
	request->arg = &progress;
	progress_bar_start(&progress, "saving", true);
	status = storage_save(storage, request, result, NULL, err);
	progress_bar_stop(&progress);
	return status;
}

int manual_snapshot_save(struct store_command *store_command,
			 const struct manual_snapshot *manual_snapshot, const char *word)
{
	struct claim claim = {.policy = RESTORE_LATEST};
	struct attempt attempt = {0};
	struct save_request request = {0};
	struct save_result result;
	struct err err;
	int64_t began = clock_monotonic_ms();
	int status;

	/* First: the claim takes the place of a job that runs, and nothing would come of it. */
	if (directory_check_store(manual_snapshot->directory, store_command->store, &err) < 0) {
		log_error("%s: name another directory, or another store", err.text);
		return EXIT_CONFIGURATION;
	}
	if (storage_check_directory(manual_snapshot->directory, NULL, &err) < 0 ||
	    storage_claim(store_command->storage, &claim, &attempt, NULL, &err) < 0)
		return store_command_fail(store_command, &err);
	request.id = (struct snapshot_id){attempt.number, 1};
	request.parent = attempt.start;
	status = save_snapshot(store_command->storage, manual_snapshot, &request, &result, &err);
	storage_end_attempt(store_command->storage, attempt.number,
			    status == 0 ? manual_snapshot->outcome : "failed", NULL, NULL, NULL);
	attempt_release(&attempt);
	if (status < 0)
		return store_command_fail(store_command, &err);
	skipped_files_report(&result, manual_snapshot->directory);
	print_saved(store_command, word, request.id, &result, clock_monotonic_ms() - began);
	return 0;
}
