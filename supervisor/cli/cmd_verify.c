/* reprieve verify: reads every byte of a snapshot, or of all, and says what is wrong. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/progress_bar.h"
#include "store_command.h"
#include "terminal_line.h"
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>

static const struct query_usage usage = {
	.text = "Read every byte of a snapshot, or of all of a job, and check it.\n\n"
		"  reprieve verify\n"
		"  reprieve verify latest\n\n"
		"Usage: reprieve verify [ID|latest] [--store URL] [--job NAME] [--json]\n\n"
		"Exit status: 0 all good, 1 damage was found.\n",
	.words_most = 1,
	.moves = true,
};

struct findings {
	bool json;
	json_t *list;
};

static void found(void *arg, struct snapshot_id id, const char *sentence)
{
	struct findings *findings = arg;
	char text[SNAPSHOT_ID_TEXT];

	snapshot_id_format(id, text);
	if (findings->json)
		json_array_append_new(
			findings->list, json_pack("{s:s, s:s}", "id", text, "damage", sentence));
	else
		show_line("damaged  %s  %s", text, sentence);
}

static int verify(struct query *query, struct snapshot_id id, struct findings *findings,
	uint32_t *snapshots, uint32_t *damages, struct err *err)
{
	struct progress progress;
	int status;

	progress_start(&progress, "reading", true);
	storage_watch(query->storage, progress_tell, &progress);
	status = storage_verify(query->storage, id, found, findings, snapshots, damages, NULL, err);
	progress_stop(&progress);
	return status;
}

int cmd_verify(int argc, char **argv)
{
	auto_(query_end) struct query query = {0};
	struct findings findings = {0};
	struct snapshot_id id = {0};
	uint32_t snapshots = 0, damages = 0;
	struct err err;
	int code = query_begin(argc, argv, &usage, &query);

	if (code < 0 && query.word_count > 0)
		code = query_snapshot(&query, query.words[0], &id);
	if (code >= 0)
		return code;
	findings.json = query.json;
	findings.list = json_array();
	if (verify(&query, id, &findings, &snapshots, &damages, &err) < 0) {
		json_decref(findings.list);
		return query_snapshot_failed(&query, id, &err);
	}
	code = snapshots == 0 ? query_check_job(&query) : -1;
	if (code >= 0) {
		json_decref(findings.list);
		return code;
	}
	if (query.json)
		json_print(json_pack("{s:s, s:s, s:i, s:o}", "store", query.store, "job", query.job,
				   "snapshots", (int)snapshots, "damages", findings.list),
			true);
	else {
		json_decref(findings.list);
		if (snapshots == 0)
			printf("job %s has no snapshots in %s: there is nothing to verify\n",
				query.job, query.store);
		else
			printf("%u snapshot%s of job %s read: %s\n", snapshots,
				snapshots == 1 ? "" : "s", query.job,
				damages ? "damage was found" : "every byte is what was saved");
	}
	return damages ? EXIT_FAILURE : 0;
}
