/* reprieve pin, reprieve unpin: a snapshot that no policy may forget. */
#include "base/cleanup.h"
#include "base/json.h"
#include "store_command.h"
#include "verbs.h"

#include <stdio.h>

// clang-format off
static const struct option_group groups[] = {STORE_COMMAND_STORE, STORE_COMMAND_OTHER};

const struct verb verb_pin = {
	.name = "pin",
	.summary = "keep a snapshot, whatever `reprieve forget` and --keep-* say",
	.examples = "reprieve pin latest\n"
		"reprieve pin 3-12 --job train",
	.arguments = "ID|latest",
	.arguments_least = 1,
	.arguments_most = 1,
	.groups = groups,
	.exits = store_command_exits,
};

const struct verb verb_unpin = {
	.name = "unpin",
	.summary = "let a pinned snapshot be forgotten again",
	.examples = "reprieve unpin 3-12",
	.arguments = "ID|latest",
	.arguments_least = 1,
	.arguments_most = 1,
	.groups = groups,
	.exits = store_command_exits,
};
// clang-format on

typedef int pin_fn(struct storage *storage, struct snapshot_id id, struct cancel *cancel,
		   struct err *err);

static int change_pin(const struct verb *verb, int argc, char **argv, pin_fn *call, bool pinned)
{
	auto_(store_command_end) struct store_command store_command = {.changes = true};
	char text[SNAPSHOT_ID_TEXT];
	struct snapshot_id id;
	struct err err;
	int code = store_command_begin(verb, argc, argv, &store_command);

	if (code < 0)
		code = store_command_find_snapshot(&store_command, store_command.words[0], &id);
	if (code >= 0)
		return code;
	while (call(store_command.storage, id, NULL, &err) < 0)
		if (!store_command_find_again(&store_command, store_command.words[0], &id, &err))
			return store_command_fail_snapshot(&store_command, id, &err);
	snapshot_id_format(id, text);
	if (store_command.json)
		json_print(json_pack("{s:s, s:b}", "id", text, "pinned", pinned), true);
	else
		printf("%s is %s\n", text, pinned ? "pinned" : "not pinned any more");
	return 0;
}

int cmd_pin(int argc, char **argv)
{
	return change_pin(&verb_pin, argc, argv, storage_pin, true);
}

int cmd_unpin(int argc, char **argv)
{
	return change_pin(&verb_unpin, argc, argv, storage_unpin, false);
}
