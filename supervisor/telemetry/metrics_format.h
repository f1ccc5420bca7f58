/*
 * PURE. A supervisor's status (`reprieve status --json`) as Prometheus text, exposition format
 * 0.0.4 (prometheus.io/docs/instrumenting/exposition_formats). Every metric is named reprieve_*;
 * every sample has the label "run", which is the job's name, and the user's labels.
 */
#ifndef METRICS_FORMAT_H
#define METRICS_FORMAT_H

#include <jansson.h>
#include <stdint.h>

/* `states` lists every state that a run can be in, and ends with NULL. `now_ms`: milliseconds since
 * 1970. The caller frees. */
char *metrics_format(json_t *status, const char *const *states, int64_t now_ms);

#endif
