/* reprieve pin, reprieve unpin: a snapshot that no policy may forget. */
#include "base/cleanup.h"
#include "base/json.h"
#include "cli.h"
#include "store_command.h"

#include <stdio.h>

static const struct store_command_usage pin_usage = {
	.text = "Keep a snapshot, whatever `reprieve forget` and --keep-* say.\n\n"
		"  reprieve pin latest\n"
		"  reprieve pin 3-12 --job train\n\n"
		"Usage: reprieve pin ID|latest [--store URL] [--job NAME] [--json]\n",
	.words = "ID|latest",
	.words_most = 1,
	.changes = true,
};

static const struct store_command_usage unpin_usage = {
	.text = "Let a pinned snapshot be forgotten again.\n\n"
		"  reprieve unpin 3-12\n\n"
		"Usage: reprieve unpin ID|latest [--store URL] [--job NAME] [--json]\n",
	.words = "ID|latest",
	.words_most = 1,
	.changes = true,
};

typedef int pin_fn(struct storage *storage, struct snapshot_id id, struct cancel *cancel,
		   struct err *err);

static int change_pin(int argc, char **argv, const struct store_command_usage *usage, pin_fn *call,
		      bool pinned)
{
	auto_(store_command_end) struct store_command store_command = {0};
	char text[SNAPSHOT_ID_TEXT];
	struct snapshot_id id;
	struct err err;
	int code = store_command_begin(argc, argv, usage, &store_command);

	if (code < 0)
		code = store_command_find_snapshot(&store_command, store_command.words[0], &id);
	if (code >= 0)
		return code;
	if (call(store_command.storage, id, NULL, &err) < 0)
		return store_command_fail(&store_command, &err);
	snapshot_id_format(id, text);
	if (store_command.json)
		json_print(json_pack("{s:s, s:b}", "id", text, "pinned", pinned), true);
	else
		printf("%s is %s\n", text, pinned ? "pinned" : "not pinned any more");
	return 0;
}

int cmd_pin(int argc, char **argv)
{
	return change_pin(argc, argv, &pin_usage, storage_pin, true);
}

int cmd_unpin(int argc, char **argv)
{
	return change_pin(argc, argv, &unpin_usage, storage_unpin, false);
}
