/*
 * PURE. Collects the lines of the event log on their way to the store, where they are uploaded in
 * parts. If the store takes nothing, the oldest lines beyond EVENT_BUFFER_MOST bytes are dropped,
 * and a line says how many.
 */
#ifndef EVENT_BUFFER_H
#define EVENT_BUFFER_H

#include "base/text.h"

#define EVENT_BUFFER_MOST (512 * 1024)

struct event_buffer {
	struct bytes lines; /* each with its newline */
	unsigned dropped;
};

/* `line` without a newline. */
void event_buffer_add(struct event_buffer *event_buffer, const char *line);

/* Moves all lines into `part`, which is empty if there are none. The caller releases it. */
void event_buffer_extract(struct event_buffer *event_buffer, struct bytes *part);

/* Puts a part that could not be uploaded back in front. Takes ownership. */
void event_buffer_put_back(struct event_buffer *event_buffer, struct bytes *part);

void event_buffer_release(struct event_buffer *event_buffer);

#endif
