/* PURE. Times as the services write them; all UTC, milliseconds since 1970. */
#ifndef DATETIME_H
#define DATETIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "2026-04-11T22:26:58Z", also with a fraction, an offset (+00:00) or nothing behind. */
bool timestamp_parse_iso(const char *text, int64_t *wall_ms);
/* "Sat, 11 Apr 2026 22:26:58 GMT" */
bool timestamp_parse_http(const char *text, int64_t *wall_ms);

#define TIMESTAMP_SIZE 32
/* Each returns `buffer`. "20260411T222658Z" and "Sat, 11 Apr 2026 22:26:58 GMT" */
const char *timestamp_compact(int64_t wall_ms, char buffer[TIMESTAMP_SIZE]);
const char *timestamp_http(int64_t wall_ms, char buffer[TIMESTAMP_SIZE]);

#endif
