/*
 * PURE. What a supervisor says of itself (`reprieve status --json`) as Prometheus text, exposition
 * format 0.0.4 (prometheus.io/docs/instrumenting/exposition_formats). Every family is named
 * reprieve_*, every sample has the label run, which is the job's name, and the user's labels.
 */
#ifndef METRICS_FORMAT_H
#define METRICS_FORMAT_H

#include <jansson.h>
#include <stdint.h>

/* `states` names every state that a run can be in, and ends with NULL. `now_ms` is wall time.
 * The caller frees. */
char *metrics_format(json_t *status, const char *const *states, int64_t now_ms);

#endif
