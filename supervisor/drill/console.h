/* The drill as it happens, for people: one line on stdout for each thing worth telling, with the
 * seconds since the beginning. */
#ifndef CONSOLE_H
#define CONSOLE_H

#include "instance.h"

#include <stdbool.h>
#include <stdint.h>

struct console {
	bool silent; /* for --json */
	bool colour;
	int64_t began_ms;
};

/* Colour on a terminal, unless NO_COLOR is set or TERM is dumb. */
bool console_wants_colour(void);

void console_print(const struct console *console, const struct instance *instance,
		   const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same, standing out. */
void console_warn(const struct console *console, const struct instance *instance,
		  const char *format, ...) __attribute__((format(printf, 3, 4)));

/* What the ledger says, where it is worth telling. `event` is the one added last. */
void console_print_event(const struct console *console, const struct instance *instance,
			 enum run_event event);

#endif
