#include "ledger_summary.h"

#include "base/cleanup.h"
#include "base/json.h"

#include <string.h>

/* As cli/attempt_costs.c reads them. Of notices only those that stop the job. */
static const char *const events[] = {"launched", "restored",     "began_anew", "durable",
				     "notice",   "child_exited", "ended"};

#define EVENTS (sizeof(events) / sizeof(events[0]))

struct line {
	const char *text;
	size_t length;
};

/* The position of its event; EVENTS: it counts only as the last one; -1: it does not count. */
static int line_event(const char *text, size_t length)
{
	auto_json json_t *line = json_loadb(text, length, 0, NULL);
	const char *event = json_text_or(line, "event", "");

	if (!line || json_number_or(line, "monotonic_ms", -1) < 0)
		return -1;
	for (size_t i = 0; i < EVENTS; i++)
		if (text_equal(event, events[i]) &&
		    (!text_equal(event, "notice") ||
		     text_equal(json_text_or(line, "kind", ""), "stop")))
			return (int)i;
	return (int)EVENTS;
}

static int append_in_order(struct line *lines, struct bytes *out, struct err *err)
{
	for (;;) {
		struct line *first = NULL;

		for (size_t i = 0; i <= EVENTS; i++)
			if (lines[i].text && (!first || lines[i].text < first->text))
				first = &lines[i];
		if (!first)
			return 0;
		if (bytes_append(out, first->text, first->length, err) < 0 ||
		    bytes_append(out, "\n", 1, err) < 0)
			return -1;
		first->text = NULL;
	}
}

int ledger_summary(const struct bytes *ledger, struct bytes *out, struct err *err)
{
	const char *at = (const char *)ledger->data, *end = at + ledger->size;
	struct line lines[EVENTS + 1] = {0};

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t length = newline ? (size_t)(newline - at) : (size_t)(end - at);
		int event = line_event(at, length);

		if (event >= 0) {
			lines[event] = (struct line){at, length};
			/* The last of all, unless it counts by itself. */
			lines[EVENTS] = event < (int)EVENTS ? (struct line){0} : lines[EVENTS];
		}
		at += length + 1;
	}
	return append_in_order(lines, out, err);
}
