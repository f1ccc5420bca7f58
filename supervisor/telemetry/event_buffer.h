/*
 * PURE. The event ledger on its way to the store: lines are collected and handed over in parts. What a store that takes nothing lets pile up is
 * bounded: beyond LEDGER_MOST the oldest lines go, and a line says how many.
 */
#ifndef EVENT_BUFFER_H
#define EVENT_BUFFER_H

#include "base/text.h"

#define LEDGER_MOST (512 * 1024)

struct ledger {
	struct bytes lines; /* each with its newline */
	unsigned dropped;
};

/* `line` without a newline. */
void ledger_add(struct ledger *ledger, const char *line);

/* Moves what is there into `part` (empty where there is nothing); the caller releases it. */
void ledger_take(struct ledger *ledger, struct bytes *part);

/* A part that could not be written goes back to the front. Takes it over. */
void ledger_return(struct ledger *ledger, struct bytes *part);

void ledger_release(struct ledger *ledger);

#endif
