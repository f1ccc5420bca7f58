/* The drill as it happens, for people: one line on stdout for each thing worth telling, with the seconds since the beginning. */
#ifndef CONSOLE_H
#define CONSOLE_H

#include "instance.h"

#include <stdbool.h>
#include <stdint.h>

struct story {
	bool silent; /* for --json */
	bool colour;
	int64_t began_ms;
};

/* Colour on a terminal, unless NO_COLOR is set or TERM is dumb. */
bool story_wants_colour(void);

void story_tell(const struct story *story, const struct machine *machine, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The same, standing out. */
void story_warn(const struct story *story, const struct machine *machine, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* What the ledger says, where it is worth telling. `event` is the one added last. */
void story_event(const struct story *story, const struct machine *machine, enum run_event event);

#endif
