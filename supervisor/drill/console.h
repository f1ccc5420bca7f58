/* Prints the drill as it happens, for people: one line on stdout per event, with the seconds since
 * the start. */
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
/* The same in another colour. */
void console_warn(const struct console *console, const struct instance *instance,
		  const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Prints an event of the run, if it is of interest. `event` is the one that was read last. */
void console_print_event(const struct console *console, const struct instance *instance,
			 enum run_event event);

/* Of many saves after the notice only the first are printed as they happen. Says at the machine's
 * end what has come after them. */
void console_print_other_saves(const struct console *console, const struct instance *instance);

#endif
