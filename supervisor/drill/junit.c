#include "junit.h"

#include "drill/resumption.h"

#include <string.h>

static void add_text(struct bytes *out, const char *text)
{
	bytes_append(out, text, strlen(text), NULL);
}

/* XML has no control characters, not even escaped ones. */
static void add_escaped(struct bytes *out, const char *text)
{
	static const struct {
		char plain;
		const char *escaped;
	} table[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}};
	auto_free char *line = text_copy(text);

	text_to_line(line);
	for (const char *at = line; *at; at++) {
		const char *escaped = NULL;

		for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
			if (table[i].plain == *at)
				escaped = table[i].escaped;
		if (escaped)
			add_text(out, escaped);
		else
			bytes_append(out, at, 1, NULL);
	}
}

void junit_add(struct junit *junit, const char *name, enum drill_result result, const char *reason)
{
	struct bytes *out = &junit->cases;

	junit->tests++;
	junit->failures += result != DRILL_PASS;
	add_text(out, "  <testcase classname=\"reprieve.drill\" name=\"");
	add_escaped(out, name);
	add_text(out, "\">");
	if (result == DRILL_PASS) {
		add_text(out, "<system-out>");
		add_escaped(out, reason ? reason : "");
		add_text(out, "</system-out>");
	} else {
		add_text(out, "<failure type=\"");
		add_escaped(out, drill_result_name(result));
		add_text(out, "\" message=\"");
		add_escaped(out, reason ? reason : "");
		add_text(out, "\"/>");
	}
	add_text(out, "</testcase>\n");
}

char *junit_format(const struct junit *junit)
{
	return text_format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
			   "<testsuite name=\"reprieve drill\" tests=\"%u\" failures=\"%u\" "
			   "errors=\"0\">\n%.*s</testsuite>\n",
			   junit->tests, junit->failures, (int)junit->cases.size,
			   junit->cases.data ? (const char *)junit->cases.data : "");
}

char *junit_without_verdict(const char *reason)
{
	auto_(junit_release) struct junit junit = {0};

	junit_add(&junit, "the drill as a whole", DRILL_UNPROVEN, reason);
	return junit_format(&junit);
}

void junit_release(struct junit *junit)
{
	bytes_release(&junit->cases);
	*junit = (struct junit){0};
}
