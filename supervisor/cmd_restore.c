/* reprieve restore: a snapshot into a directory, without a job. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "outcome.h"
#include "query.h"
#include "verbs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct query_usage usage = {
	.text = "Put a snapshot into a directory.\n\n"
		"  reprieve restore latest ./checkpoints\n"
		"  reprieve restore 3-12 /tmp/look --store file:///mnt/share/runs --job train\n\n"
		"Usage: reprieve restore ID|latest DIR [--store URL] [--job NAME] [--json]\n\n"
		"DIR must be empty or not there. It appears whole, or not at all.\n",
	.words_least = 2,
	.words_most = 2,
};

static int put_in_place(const char *staging, const char *directory, struct err *err)
{
	/* rename(2) replaces an empty directory in one step. */
	if (rename(staging, directory) < 0)
		return err_os(err, errno, "cannot put %s in place", directory);
	return 0;
}

static void report(const struct query *query, struct snapshot_id id, const char *directory,
	const struct restore_result *result, int64_t milliseconds)
{
	char text[SNAPSHOT_ID_TEXT], size[24], time[32];

	snapshot_id_format(id, text);
	if (query->json) {
		json_print(json_pack("{s:s, s:s, s:o, s:i, s:I, s:I, s:f}", "id", text, "directory",
				   directory, "step",
				   result->step >= 0 ? json_integer(result->step) : json_null(),
				   "files", (int)result->files, "bytes", (json_int_t)result->bytes,
				   "bytes_fetched", (json_int_t)result->bytes_fetched, "seconds",
				   (double)milliseconds / 1000),
			true);
		return;
	}
	printf("restored %s into %s: %u files, %s in %s\n", text, directory, result->files,
		text_bytes(result->bytes, size, sizeof(size)),
		text_duration(milliseconds, time, sizeof(time)));
}

int cmd_restore(int argc, char **argv)
{
	auto_(query_end) struct query query = {0};
	auto_free char *directory = NULL;
	auto_free char *staging = NULL;
	struct restore_request request = {0};
	struct restore_result result;
	struct err err;
	char nonce[33];
	int64_t began;
	int code = query_begin(argc, argv, &usage, &query);

	if (code < 0)
		code = query_snapshot(&query, query.words[0], &request.id);
	if (code >= 0)
		return code;
	directory = file_absolute(query.words[1]);
	if (file_exists(directory) &&
		!(file_is_directory(directory) && file_directory_is_empty(directory))) {
		log_error("%s is not empty: choose a directory that is empty or not there",
			directory);
		return EXIT_CONFIGURATION;
	}
	file_nonce(nonce);
	staging = text_format("%s.restore-%.8s", directory, nonce);
	request.directory = staging;
	began = clock_monotonic_ms();
	if (storage_restore(query.storage, &request, &result, NULL, &err) < 0 ||
		put_in_place(staging, directory, &err) < 0) {
		file_remove_tree(staging, NULL);
		return query_failed(&query, &err);
	}
	report(&query, request.id, directory, &result, clock_monotonic_ms() - began);
	return 0;
}
