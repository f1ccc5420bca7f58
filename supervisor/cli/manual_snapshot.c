#include "manual_snapshot.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "upload/upload.h"
#include "scheduler/scheduler.h"
#include "workspace/workspace.h"
#include "base/progress_bar.h"

#include <stdio.h>

static void report(const struct query *query, const char *word, struct snapshot_id id,
	const struct take_result *result, int64_t milliseconds)
{
	char text[SNAPSHOT_ID_TEXT], size[24], sent[24], time[32];

	snapshot_id_format(id, text);
	if (query->json) {
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

static void told(void *arg, const struct take_progress *now)
{
	progress_tell(arg, now->bytes_done, now->bytes_total);
}

static int take_one(struct storage *storage, const struct saving *saving,
	struct take_request *request, struct take_result *result, struct err *err)
{
	auto_json json_t *about = saving->tag ? json_pack("{s:s}", "tag", saving->tag) : NULL;
	struct progress progress;
	int status;

	request->directory = saving->directory;
	request->reason = saving->reason;
	request->step = saving->step;
	request->about = about;
	request->progress = told;
	request->arg = &progress;
	progress_start(&progress, "saving", true);
	status = storage_take(storage, request, result, NULL, err);
	progress_stop(&progress);
	return status;
}

int saving_run(struct query *query, const struct saving *saving, const char *word)
{
	struct claim claim = {.policy = RESTORE_LATEST};
	struct attempt attempt = {0};
	struct take_request request = {0};
	struct take_result result;
	struct err err;
	int64_t began = clock_monotonic_ms();
	int status;

	/* First: the claim takes the place of a job that runs, and nothing would come of it. */
	if (own_directory_check_store(saving->directory, query->store, &err) < 0) {
		log_error("%s: name another directory, or another store", err.text);
		return EXIT_CONFIGURATION;
	}
	if (storage_check_directory(saving->directory, NULL, &err) < 0 ||
		storage_claim(query->storage, &claim, &attempt, NULL, &err) < 0)
		return query_failed(query, &err);
	request.id = (struct snapshot_id){attempt.number, 1};
	request.parent = attempt.start;
	status = take_one(query->storage, saving, &request, &result, &err);
	storage_end_attempt(query->storage, attempt.number,
		status == 0 ? saving->outcome : "failed", NULL, NULL, NULL);
	attempt_release(&attempt);
	if (status < 0)
		return query_failed(query, &err);
	left_out_tell(&result, saving->directory);
	report(query, word, request.id, &result, clock_monotonic_ms() - began);
	return 0;
}
