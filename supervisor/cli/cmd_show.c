/* reprieve show: what one snapshot holds. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "status_text.h"
#include "store_command.h"
#include "verbs.h"

#include <stdio.h>

// clang-format off
const struct verb verb_show = {
	.name = "show",
	.summary = "show what a snapshot holds",
	.examples = "reprieve show latest\n"
		"reprieve show 3-12 --json",
	.arguments = "[ID|latest]",
	.arguments_most = 1,
	.groups = (const struct option_group[]){STORE_COMMAND_STORE, STORE_COMMAND_OTHER},
	.notes = "A running file is one that is written as long as the job lives. --json prints the whole "
		"manifest (storage/FORMAT.md). Of a gang, the files of member I are below member-0000I/.",
	.exits = store_command_exits,
};
// clang-format on

static void print_entry(json_t *entry)
{
	const char *type = json_text_or(entry, "type", "?");
	auto_free char *what =
		json_fill("[{path}|(a name that is not UTF-8)][ -> {target}]", entry);
	char size[24] = "";

	if (text_equal(type, "file"))
		text_bytes((uint64_t)json_number_or(entry, "size", 0), size, sizeof(size));
	terminal_line_print("  %-9s  %04o  %9s  %s",
			    json_is_true(json_object_get(entry, "running")) ? "running" : type,
			    (unsigned)json_number_or(entry, "mode", 0) & 07777, size, what);
}

/* Of a gang: what each member has given. One without a checkpoint may have files beside one. */
static void print_part(json_t *part, size_t member, json_t *step)
{
	auto_json json_t *all = json_copy(part);
	bool has = !json_is_false(json_object_get(part, "checkpoint"));

	json_object_set_new(all, "member", json_integer((json_int_t)member));
	if (has)
		json_object_set(all, "step", step);
	json_object_set_new(all, "without", json_boolean(!has));
	json_object_set_new(all, "empty", json_boolean(json_number_or(part, "files", 0) == 0));
	json_say("  member {member}[{gone:?}: had left before| on [{host}|?][{empty:?}: no "
		 "checkpoint|[, step {step}]: [{without:?}no checkpoint, ]{bytes:bytes} in {files} "
		 "file{files:s}]]",
		 all);
}

static void print_parts(json_t *parts, json_t *step)
{
	json_t *part;
	size_t i;

	if (json_array_size(parts) == 0)
		return;
	printf("members   %zu\n", json_array_size(parts));
	json_array_foreach(parts, i, part) print_part(part, i, step);
}

int cmd_show(int argc, char **argv)
{
	static const char *const lines[] = {
		"snapshot  [{id}|?] of job {job}",
		"created   [{created}|?] on [{host}|?]",
		"reason    [{reason}|?]",
		"[step      {step}]",
		"follows   [{parent}|nothing]",
		"size      {bytes:bytes} in {files} file{files:s}",
	};
	auto_(store_command_end) struct store_command store_command = {0};
	auto_json json_t *body = NULL;
	struct snapshot_id id;
	struct err err;
	size_t i;
	json_t *entry;
	int code = store_command_begin(&verb_show, argc, argv, &store_command);
	const char *word = code < 0 && store_command.words[0] ? store_command.words[0] : "latest";

	if (code < 0)
		code = store_command_find_snapshot(&store_command, word, &id);
	if (code >= 0)
		return code;
	while (storage_read_manifest(store_command.storage, id, &body, NULL, &err) < 0)
		if (!store_command_find_again(&store_command, word, &id, &err))
			return store_command_fail_snapshot(&store_command, id, &err);
	if (store_command.json) {
		json_print(steal(&body), true);
		return 0;
	}
	json_object_set_new(body, "job", json_string(store_command.job));
	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		json_say(lines[i], body);
	print_parts(json_object_get(body, "parts"), json_object_get(body, "step"));
	json_array_foreach(json_object_get(body, "entries"), i, entry) print_entry(entry);
	return 0;
}
