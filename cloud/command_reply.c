#include "command_reply.h"

#include "base/json.h"
#include "base/text.h"

#include <string.h>

static void take_identity(const struct command_end *end, struct verdict *verdict)
{
	struct answer answer = {.body = end->text, .size = end->size};
	auto_json json_t *object = NULL;
	const char *id;

	if (answer_first(&answer) != '{')
		return;
	object = json_parse(end->text, end->size, NULL);
	id = json_text_or(object, "id", "");
	if (id[0])
		text_set(verdict->notice.identity, sizeof(verdict->notice.identity), id);
}

void command_reply(const struct command_end *end, struct verdict *verdict)
{
	const struct file_content content = {
		.source = "command",
		.path = end->command,
		.text = end->text,
		.size = end->size,
		.appeared_wall_ms = end->seen_wall_ms,
		.seen_ms = end->seen_ms,
		.seen_wall_ms = end->seen_wall_ms,
	};

	if (!end->ended)
		verdict_set(verdict, VERDICT_UNKNOWN,
			"the command did not end by itself within its time: make it quick");
	else if (end->code == COMMAND_NONE)
		verdict_set(verdict, VERDICT_NEGATIVE, "%s", "");
	else if (end->code == 126 || end->code == 127)
		verdict_set(verdict, VERDICT_UNKNOWN,
			"the command cannot be run (exit %d): see that it is there and executable",
			end->code);
	else if (end->code != COMMAND_NOTICE)
		verdict_set(verdict, VERDICT_UNKNOWN,
			"the command ended with %d: 0 is a notice, 1 is none", end->code);
	else
		file_reply(&content, verdict);
	if (verdict->kind == VERDICT_POSITIVE)
		take_identity(end, verdict);
}
