#include "event_buffer.h"

#include "base/cleanup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The oldest lines go until the rest fits. */
static void bound(struct ledger *ledger)
{
	struct bytes *lines = &ledger->lines;
	size_t gone = 0;

	while (lines->size - gone > LEDGER_MOST) {
		uint8_t *end = memchr(lines->data + gone, '\n', lines->size - gone);

		gone = end ? (size_t)(end - lines->data) + 1 : lines->size;
		ledger->dropped++;
	}
	memmove(lines->data, lines->data + gone, lines->size - gone);
	lines->size -= gone;
}

void ledger_add(struct ledger *ledger, const char *line)
{
	if (bytes_append(&ledger->lines, line, strlen(line), NULL) < 0 ||
		bytes_append(&ledger->lines, "\n", 1, NULL) < 0)
		return;
	if (ledger->lines.size > LEDGER_MOST)
		bound(ledger);
}

void ledger_take(struct ledger *ledger, struct bytes *part)
{
	*part = ledger->lines;
	ledger->lines = (struct bytes){0};
	if (ledger->dropped == 0)
		return;
	bytes_format(
		part, NULL, "{\"event\":\"ledger_shortened\",\"lines\":%u}\n", ledger->dropped);
	ledger->dropped = 0;
}

void ledger_return(struct ledger *ledger, struct bytes *part)
{
	struct bytes newer = ledger->lines;

	ledger->lines = *part;
	*part = (struct bytes){0};
	if (newer.size > 0)
		bytes_append(&ledger->lines, newer.data, newer.size, NULL);
	bytes_release(&newer);
	if (ledger->lines.size > LEDGER_MOST)
		bound(ledger);
}

void ledger_release(struct ledger *ledger)
{
	bytes_release(&ledger->lines);
}
