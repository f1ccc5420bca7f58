/* PURE. What the user calls a run for reports and metrics: --label team=nlp. */
#ifndef LABELS_H
#define LABELS_H

#include "base/err.h"

#include <jansson.h>
#include <stddef.h>

#define LABELS_MOST 16

/* "team=nlp,project=digits": names are [A-Za-z_][A-Za-z0-9_]*, as metrics want them, and none that
 * the metrics or Prometheus use themselves. ERR_INVALID says which is none. */
int labels_check(const char *text, struct err *err);

/* {"team": "nlp", ...} of all texts; later ones win. The caller owns it. */
json_t *labels_json(const char *const *texts, size_t count);

#endif
