/* reprieve save: one snapshot of a directory now, without a job. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "outcome.h"
#include "query.h"
#include "verbs.h"
#include "workspace.h"

#include <stdio.h>
#include <stdlib.h>

static const struct query_usage usage = {
	.text = "Take one snapshot of a directory, for a job that is not running.\n\n"
		"  reprieve save ./checkpoints --job train\n\n"
		"Usage: reprieve save DIR --job NAME [--store URL] [--json]\n\n"
		"The directory must not be written to meanwhile. Takes an attempt number, as a run "
		"would:\n"
		"a machine that still runs the job publishes nothing from then on.\n",
	.words_least = 1,
	.words_most = 1,
	.writes = true,
};

static void report(const struct query *query, struct snapshot_id id,
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
	printf("saved %s: %u files, %s (%s written) in %s\n", text, result->files,
		text_bytes(result->bytes, size, sizeof(size)),
		text_bytes(result->bytes_sent, sent, sizeof(sent)),
		text_duration(milliseconds, time, sizeof(time)));
}

int cmd_save(int argc, char **argv)
{
	auto_(query_end) struct query query = {0};
	struct claim claim = {.policy = RESTORE_LATEST};
	struct attempt attempt = {0};
	struct take_request request = {.reason = "request", .step = -1};
	struct take_result result;
	struct err err;
	int64_t began;
	int status;
	int code = query_begin(argc, argv, &usage, &query);

	if (code >= 0)
		return code;
	/* Before anything is claimed: a mistyped name must not take the running job's place. */
	if (!file_is_directory(query.words[0]) || file_directory_is_empty(query.words[0])) {
		log_error("save: %s is no directory with something in it", query.words[0]);
		return EXIT_CONFIGURATION;
	}
	began = clock_monotonic_ms();
	if (storage_claim(query.storage, &claim, &attempt, NULL, &err) < 0)
		return query_failed(&query, &err);
	request.id = (struct snapshot_id){attempt.number, 1};
	request.parent = attempt.start;
	request.directory = query.words[0];
	status = storage_take(query.storage, &request, &result, NULL, &err);
	storage_end_attempt(
		query.storage, attempt.number, status == 0 ? "saved" : "failed", NULL, NULL, NULL);
	attempt_release(&attempt);
	if (status < 0)
		return query_failed(&query, &err);
	report(&query, request.id, &result, clock_monotonic_ms() - began);
	return 0;
}
