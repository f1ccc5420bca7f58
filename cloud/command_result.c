#include "command_result.h"

#include "base/json.h"
#include "base/text.h"

#include <stdint.h>
#include <stdio.h>

/* Identifies the command by a hash (FNV-1a): it may contain secrets and must not appear in logs and
 * webhooks. */
static void set_hashed_identity(const char *command, char identity[32])
{
	uint64_t hash = 14695981039346656037u;

	for (const char *at = command; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 1099511628211u;
	snprintf(identity, 32, "command-%016llx", (unsigned long long)hash);
}

static void take_given_identity(const struct command_result *end, struct verdict *verdict)
{
	struct reply reply = {.body = end->text, .size = end->size};
	auto_json json_t *object = NULL;
	const char *id;

	if (reply_first_char(&reply) != '{')
		return;
	object = json_parse(end->text, end->size, NULL);
	id = json_text_or(object, "id", "");
	if (!id[0])
		return;
	text_set(verdict->notice.identity, sizeof(verdict->notice.identity), id);
	text_to_line(verdict->notice.identity);
}

void command_result_judge(const struct command_result *end, struct verdict *verdict)
{
	char identity[32];
	const struct file_content content = {
		.source = "command",
		.path = identity,
		.text = end->text,
		.size = end->size,
		.appeared_wall_ms = end->seen_wall_ms,
		.seen_ms = end->seen_ms,
		.seen_wall_ms = end->seen_wall_ms,
	};

	set_hashed_identity(end->command, identity);
	if (!end->ended)
		verdict_set(verdict, VERDICT_UNKNOWN,
			    "the command did not end by itself within its time: make it quick");
	else if (end->code == COMMAND_NONE)
		verdict_set(verdict, VERDICT_NEGATIVE, "%s", "");
	else if (end->code == 126 || end->code == 127)
		verdict_set(verdict, VERDICT_UNKNOWN,
			    "the command cannot be run (exit %d): see that it is there and "
			    "executable",
			    end->code);
	else if (end->code != COMMAND_NOTICE)
		verdict_set(verdict, VERDICT_UNKNOWN,
			    "the command ended with %d: 0 is a notice, 1 is none", end->code);
	else
		file_reply(&content, verdict);
	if (verdict->kind == VERDICT_POSITIVE)
		take_given_identity(end, verdict);
}
