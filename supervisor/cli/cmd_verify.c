/* reprieve verify: reads every byte of a snapshot, or of all, and says what is wrong. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/text.h"
#include "status_text.h"
#include "store_command.h"
#include "verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct verify_options {
	/* `changes`, with --repair, opens the store for writing. */
	struct store_command store_command;
	unsigned sample_percent;
};

static int set_sample(void *options, const char *value, struct err *err)
{
	struct verify_options *verify = options;
	size_t digits = strspn(value, "0123456789");
	auto_free char *number = text_copy_n(value, digits);
	uint64_t percent;

	if ((value[digits] != '\0' && !text_equal(value + digits, "%")) ||
	    !text_to_u64(number, 100, &percent) || percent == 0)
		return err_set(err, ERR_INVALID, "invalid share '%s': write 1%% to 100%%", value);
	verify->sample_percent = (unsigned)percent;
	return 0;
}

// clang-format off
static const struct option_row own_rows[] = {
	{"sample", 0, "SHARE", NULL,
		"read only this share of the content, another one each time: 5%", .set = set_sample},
	{"repair", 0, NULL, NULL,
		"set aside what is damaged, so that the next save sends it anew and nothing starts "
		"from it; put back what was set aside and is whole",
		OPTION_FLAG(struct verify_options, store_command.changes)},
	{0},
};

const struct verb verb_verify = {
	.name = "verify",
	.summary = "read every byte of a snapshot, or of all of a job, and check it",
	.examples = "reprieve verify\n"
		"reprieve verify latest\n"
		"reprieve verify --sample 5%\n"
		"reprieve verify --repair",
	.arguments = "[ID|latest]",
	.arguments_most = 1,
	.groups = (const struct option_group[]){
		STORE_COMMAND_STORE,
		OPTION_GROUP("What", own_rows, 0),
		STORE_COMMAND_TRANSFER, STORE_COMMAND_OTHER},
	.notes = "Once --repair has set damaged content aside, the next save of a job sends it anew. The "
		"other files of a damaged snapshot: `reprieve restore ID DIR --exclude FILE`.",
	.exits = (const struct help_row[]){
		{"0", "all is good"},
		{"1", "damage was found, or it could not be read"},
		{"78", "wrong configuration: no such store or job, or it cannot be used"},
		{0},
	},
};
// clang-format on

/* Of --json, else of text. */
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

static json_t *result_json(const struct store_command *command, json_t *damages,
			   const struct verify_result *result)
{
	return json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:O}", "store", command->store,
			 "job", command->job, "snapshots", (int)result->snapshots, "packs",
			 (int)result->packs, "packs_read", (int)result->packs_read, "unreadable",
			 (int)result->unreadable, "set_aside", (int)result->set_aside, "put_back",
			 (int)result->put_back, "damages", damages);
}

/* What is missing, or set aside, every save knows. */
static void print_repair(bool repair, const struct verify_result *result)
{
	bool damage = result->damages > result->unreadable;

	if (result->unreadable > 0)
		printf("no save mends the record of a snapshot: put %s back from a copy of the "
		       "store, if there is one; a start takes the newest snapshot that is whole\n",
		       result->unreadable == 1 ? "that file" : "those files");
	if (result->set_aside > 0)
		printf("%u damaged pack%s set aside: the next save sends anew what is needed of "
		       "%s\n",
		       result->set_aside, result->set_aside == 1 ? "" : "s",
		       result->set_aside == 1 ? "it" : "them");
	if (result->put_back > 0)
		printf("%u pack%s whole, and put back\n", result->put_back,
		       result->put_back == 1 ? " is" : "s are");
	if (result->to_repair > 0)
		printf("`reprieve verify --repair` sets aside what is damaged, so that the next "
		       "save sends it anew\n");
	else if (damage && result->set_aside == 0)
		printf("the damage is known already, and the next save sends anew what is needed "
		       "of it\n");
	else if (repair && result->set_aside == 0 && result->put_back == 0 &&
		 result->snapshots > 0 && result->unreadable == 0)
		printf("there is nothing to repair\n");
}

static void print_result(bool repair, const struct verify_result *result, json_t *all)
{
	const char *what =
		result->damages > 0 ? "damage was found" : "every byte is what was saved";

	json_object_set_new(all, "what", json_string(what));
	json_say(result->snapshots == 0
			 ? "job {job} has no snapshots in {store}: there is nothing to verify"
		 : result->packs_read < result->packs
			 ? "{packs_read} of {packs} packs of job {job} read: {what}"
			 : "{snapshots} snapshot{snapshots:s} of job {job} read: {what}",
		 all);
	if (result->damages > result->unreadable)
		printf("the other files of a damaged snapshot, if it has any, can be fetched: "
		       "reprieve restore ID DIR --exclude FILE\n");
	print_repair(repair, result);
}

int cmd_verify(int argc, char **argv)
{
	auto_(store_command_end) struct verify_options options = {0};
	struct store_command *command = &options.store_command;
	auto_json json_t *list = json_array(), *all = NULL;
	struct verify_findings findings = {.list = list};
	struct verify_request request = {.found = print_damage, .arg = &findings};
	struct verify_result result;
	struct progress_bar progress;
	struct err err;
	int code = store_command_begin(&verb_verify, argc, argv, &options), status;

	if (code < 0 && command->words[0])
		code = store_command_find_snapshot(command, command->words[0], &request.id);
	if (code >= 0)
		return code;
	findings.json = command->json;
	request.repair = command->changes;
	request.sample_percent = options.sample_percent;
	progress_bar_start(&progress, "reading");
	storage_set_progress(command->storage, progress_bar_update, &progress);
	do
		status = storage_verify(command->storage, &request, &result, NULL, &err);
	while (status < 0 && command->words[0] &&
	       store_command_find_again(command, command->words[0], &request.id, &err));
	progress_bar_stop(&progress);
	if (status < 0)
		return store_command_fail_snapshot(command, request.id, &err);
	code = result.snapshots == 0 ? store_command_check_job(command) : -1;
	if (code >= 0)
		return code;
	all = result_json(command, list, &result);
	if (command->json)
		json_print(steal(&all), true);
	else
		print_result(command->changes, &result, all);
	return result.damages > 0 ? EXIT_FAILURE : 0;
}
