/* Time. Deadlines are milliseconds of CLOCK_MONOTONIC; CLOCK_NEVER means none. Wall time is for
 * people and for other machines. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLOCK_NEVER INT64_MAX

int64_t clock_monotonic_ms(void);
int64_t clock_boot_ms(void); /* goes on while the machine sleeps */
int64_t clock_wall_ms(void); /* since 1970, UTC */

/* The deadline minus now, at least 0; CLOCK_NEVER stays CLOCK_NEVER. */
int64_t clock_left_ms(int64_t deadline_ms);

/* Converts a wall time to the monotonic clock, by the present difference of the two. */
int64_t clock_from_wall_ms(int64_t wall_ms);

/* RFC 3339 in UTC with milliseconds, "2026-08-22T10:15:00.123Z"; returns `buffer`
 * (at least 32 bytes). */
const char *clock_format(int64_t wall_ms, char *buffer, size_t capacity);

/* PURE. Points in time as services write them: UTC, in milliseconds since 1970. */

/*
 * Reads "2026-04-11T22:26:58Z" (RFC 3339; also with a fraction, with an offset, or with no zone,
 * which means UTC) and "Sat, 11 Apr 2026 22:26:58 GMT" (RFC 9110's date; also without the weekday).
 * False for anything else.
 */
bool datetime_parse(const char *text, int64_t *wall_ms);

/* Reads the start of `text`, "2026-04-11T22:26:58", as local time: not PURE, because of the zone.
 */
bool datetime_parse_local(const char *text, int64_t *wall_ms);

#define DATETIME_SIZE 32
/* Each returns `buffer`: "2026-04-11T22:26:58Z", "20260411T222658Z", "Sat, 11 Apr
 * 2026 22:26:58 GMT". */
const char *datetime_iso(int64_t wall_ms, char buffer[DATETIME_SIZE]);
const char *datetime_compact(int64_t wall_ms, char buffer[DATETIME_SIZE]);
const char *datetime_rfc1123(int64_t wall_ms, char buffer[DATETIME_SIZE]);

/* --- pauses between tries --- */

/*
 * PURE. How long to wait before the next try: a random time up to a bound that doubles from try to
 * try, so that a thousand machines that were refused together do not return together ("full
 * jitter").
 */

/* A value of `random` for no jitter: for a client that is alone, as a VM that asks its host. */
#define BACKOFF_WHOLE UINT32_MAX

/* How long to wait after the `tries`-th try (0 counts as the first): 0 to the bound (inclusive), in
 * proportion to `random`. The bound is `first_ms` at first, doubles, and is at most `most_ms`. */
int64_t backoff_ms(unsigned tries, int64_t first_ms, int64_t most_ms, uint32_t random);

/* A random number for `random`, from the kernel; half of the range if the kernel has none. Not
 * PURE. Does not block once the system has booted. */
uint32_t backoff_random(void);

#endif
