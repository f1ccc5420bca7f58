/* PRIVATE. PURE. The three ways in which metadata services write a time. */
#ifndef CLOUD_DATES_H
#define CLOUD_DATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * "2026-04-11T22:26:58Z" (also with a fraction, an offset, or no zone at all: then UTC) or "Sat, 11 Apr 2026 22:26:58 GMT" (also
 * without the weekday) -> milliseconds since 1970. False for anything else.
 */
bool dates_parse(const char *text, int64_t *wall_ms);

/* "2026-04-11T22:26:58Z" and "Sat, 11 Apr 2026 22:26:58 GMT"; return `buffer` (at least 32 bytes). */
const char *dates_iso(int64_t wall_ms, char *buffer, size_t capacity);
const char *dates_rfc1123(int64_t wall_ms, char *buffer, size_t capacity);

#endif
