/* PURE. Points in time as services write them: UTC, in milliseconds since 1970. */
#ifndef DATETIME_H
#define DATETIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
