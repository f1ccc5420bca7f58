/* Formats notices and notice sources, for people and as JSON: the same in status, watch, log and
 * the job's notice file. */
#ifndef NOTICE_FORMAT_H
#define NOTICE_FORMAT_H

#include "cloud/cloud.h"

#include <jansson.h>

const char *notice_kind_name(enum notice_kind kind); /* "stop" */

/* "preemption notice from aws (spot terminate at ...): 1 min 57 s left"; a guessed time is "about".
 * Returns `buffer`. */
const char *notice_format(const struct notice *notice, char *buffer, size_t capacity);

/* {"kind", "source", "identity", "reason", "deadline": RFC 3339 or null, "seconds_left": N or null,
 * "guessed"}. The caller owns it. */
json_t *notice_format_json(const struct notice *notice);

/* "notices from aws: armed (http://...)". Returns `buffer`. */
const char *notice_format_source(const struct source_state *state, char *buffer, size_t capacity);
/* {"name", "health", "why", "endpoint", "polls", "unknowns"}. The caller owns it. */
json_t *notice_format_source_json(const struct source_state *state);
/* An array of them; `watch` NULL: empty. The caller owns it. */
json_t *notice_format_sources_json(struct cloud_watch *watch);

/* The file exists while a stop stands, and not for advice: a job that exits when it sees the file
 * must not exit for advice. `stop`: as notice_format_json(), but for "seconds_left"; NULL: removes
 * the file. `path` NULL: there is none. */
void notice_format_write_file(const char *path, const struct notice *stop);

#endif
