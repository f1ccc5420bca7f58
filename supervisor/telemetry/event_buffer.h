/*
 * PURE. The event ledger on its way to the store: lines are collected and handed over in parts.
 * What a store that takes nothing lets pile up is bounded: beyond EVENT_BUFFER_MOST the oldest
 * lines go, and a line says how many.
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

/* Moves what is there into `part` (empty where there is nothing); the caller releases it. */
void event_buffer_extract(struct event_buffer *event_buffer, struct bytes *part);

/* A part that could not be written goes back to the front. Takes it over. */
void event_buffer_put_back(struct event_buffer *event_buffer, struct bytes *part);

void event_buffer_release(struct event_buffer *event_buffer);

#endif
