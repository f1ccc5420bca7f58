/* PRIVATE. PURE. Recognises dates and times of day in names: they look like numbers. */
#ifndef NAME_TIME_H
#define NAME_TIME_H

#include <stddef.h>

/*
 * Length of the date, the time of day, or both, with which the text begins; 0: neither. The text
 * begins with a whole run of digits. "2026-11-22", "20261122", "22-11-2026", "2026-11-22_14-36-21",
 * "20261122T143621.123", "14-36-21"; not "143621" or "14-36" alone, which may be counts.
 */
size_t name_time_length(const char *text, size_t length);

#endif
