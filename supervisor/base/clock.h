/* Time. Deadlines are milliseconds of CLOCK_MONOTONIC; CLOCK_NEVER means none. Wall time is for
 * people and for other machines. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#define CLOCK_NEVER INT64_MAX

int64_t clock_monotonic_ms(void);
int64_t clock_monotonic_us(void);
int64_t clock_boot_ms(void); /* goes on while the machine sleeps */
int64_t clock_wall_ms(void); /* since 1970, UTC */

/* The deadline minus now, at least 0; CLOCK_NEVER stays CLOCK_NEVER. */
int64_t clock_left_ms(int64_t deadline_ms);

/* Converts a wall time to the monotonic clock, by the present difference of the two. */
int64_t clock_from_wall_ms(int64_t wall_ms);

/* RFC 3339 in UTC with milliseconds, "2026-08-22T10:15:00.123Z"; returns `buffer`
 * (at least 32 bytes). */
const char *clock_format(int64_t wall_ms, char *buffer, size_t capacity);

#endif
