#include "event_buffer.h"

#include "base/cleanup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Drops the oldest lines until the rest fits. */
static void drop_oldest(struct event_buffer *event_buffer)
{
	struct bytes *lines = &event_buffer->lines;
	size_t gone = 0;

	while (lines->size - gone > EVENT_BUFFER_MOST) {
		uint8_t *end = memchr(lines->data + gone, '\n', lines->size - gone);

		gone = end ? (size_t)(end - lines->data) + 1 : lines->size;
		event_buffer->dropped++;
	}
	memmove(lines->data, lines->data + gone, lines->size - gone);
	lines->size -= gone;
}

void event_buffer_add(struct event_buffer *event_buffer, const char *line)
{
	if (bytes_append(&event_buffer->lines, line, strlen(line), NULL) < 0 ||
	    bytes_append(&event_buffer->lines, "\n", 1, NULL) < 0)
		return;
	if (event_buffer->lines.size > EVENT_BUFFER_MOST)
		drop_oldest(event_buffer);
}

void event_buffer_extract(struct event_buffer *event_buffer, struct bytes *part)
{
	*part = event_buffer->lines;
	event_buffer->lines = (struct bytes){0};
	if (event_buffer->dropped == 0)
		return;
	bytes_format(part, NULL, "{\"event\":\"ledger_shortened\",\"lines\":%u}\n",
		     event_buffer->dropped);
	event_buffer->dropped = 0;
}

void event_buffer_put_back(struct event_buffer *event_buffer, struct bytes *part)
{
	struct bytes newer = event_buffer->lines;

	event_buffer->lines = *part;
	*part = (struct bytes){0};
	if (newer.size > 0)
		bytes_append(&event_buffer->lines, newer.data, newer.size, NULL);
	bytes_release(&newer);
	if (event_buffer->lines.size > EVENT_BUFFER_MOST)
		drop_oldest(event_buffer);
}

void event_buffer_release(struct event_buffer *event_buffer)
{
	bytes_release(&event_buffer->lines);
}
