/* reprieve verify: reads every byte of a snapshot, or of all, and says what is wrong. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/progress_bar.h"
#include "store_command.h"
#include "terminal_line.h"
#include "verbs.h"

#include <stdio.h>
#include <stdlib.h>

static const struct help_row exits[] = {
	{"0", "all is good"},
	{"1", "damage was found, or it could not be read"},
	{"64", "wrong usage"},
	{"78", "wrong configuration: no such store or job, or it cannot be used"},
	{0},
};

// clang-format off
const struct verb verb_verify = {
	.name = "verify",
	.summary = "read every byte of a snapshot, or of all of a job, and check it",
	.examples = "reprieve verify\n"
		"reprieve verify latest",
	.arguments = "[ID|latest]",
	.arguments_most = 1,
	.groups = (const struct option_group[]){
		STORE_COMMAND_STORE, STORE_COMMAND_TRANSFER, STORE_COMMAND_OTHER},
	.exits = exits,
};
// clang-format on

struct verify_findings {
	bool json;
	json_t *list;
};

static void print_damage(void *arg, struct snapshot_id id, const char *sentence)
{
	struct verify_findings *findings = arg;
	char text[SNAPSHOT_ID_TEXT];

	snapshot_id_format(id, text);
	if (findings->json)
		json_array_append_new(findings->list,
				      json_pack("{s:s, s:s}", "id", text, "damage", sentence));
	else
		terminal_line_print("damaged  %s  %s", text, sentence);
}

static int verify_snapshots(struct store_command *store_command, struct snapshot_id id,
			    struct verify_findings *findings, uint32_t *snapshots,
			    uint32_t *damages, struct err *err)
{
	struct progress_bar progress;
	int status;

	progress_bar_start(&progress, "reading", true);
	storage_set_progress(store_command->storage, progress_bar_update, &progress);
	status = storage_verify(store_command->storage, id, print_damage, findings, snapshots,
				damages, NULL, err);
	progress_bar_stop(&progress);
	return status;
}

int cmd_verify(int argc, char **argv)
{
	auto_(store_command_end) struct store_command store_command = {0};
	struct verify_findings findings = {0};
	struct snapshot_id id = {0};
	uint32_t snapshots = 0, damages = 0;
	struct err err;
	int code = store_command_begin(&verb_verify, argc, argv, &store_command);

	if (code < 0 && store_command.words[0])
		code = store_command_find_snapshot(&store_command, store_command.words[0], &id);
	if (code >= 0)
		return code;
	findings.json = store_command.json;
	findings.list = json_array();
	if (verify_snapshots(&store_command, id, &findings, &snapshots, &damages, &err) < 0) {
		json_decref(findings.list);
		return store_command_fail_snapshot(&store_command, id, &err);
	}
	code = snapshots == 0 ? store_command_check_job(&store_command) : -1;
	if (code >= 0) {
		json_decref(findings.list);
		return code;
	}
	if (store_command.json)
		json_print(json_pack("{s:s, s:s, s:i, s:o}", "store", store_command.store, "job",
				     store_command.job, "snapshots", (int)snapshots, "damages",
				     findings.list),
			   true);
	else {
		json_decref(findings.list);
		if (snapshots == 0)
			printf("job %s has no snapshots in %s: there is nothing to verify\n",
			       store_command.job, store_command.store);
		else
			printf("%u snapshot%s of job %s read: %s\n", snapshots,
			       snapshots == 1 ? "" : "s", store_command.job,
			       damages ? "damage was found" : "every byte is what was saved");
	}
	return damages ? EXIT_FAILURE : 0;
}
