/* PURE. The user's labels for a run, in reports and metrics: --label team=nlp. */
#ifndef LABELS_H
#define LABELS_H

#include "base/err.h"

#include <jansson.h>
#include <stddef.h>

#define LABELS_MOST 16

/* Checks "team=nlp,project=digits". A name is [A-Za-z_][A-Za-z0-9_]*, as Prometheus requires, and
 * none that our metrics or Prometheus use. ERR_INVALID names the offending one. */
int labels_check(const char *text, struct err *err);

/* {"team": "nlp", ...} from all texts; the last value of a name wins. The caller owns it. */
json_t *labels_json(const char *const *texts, size_t count);

#endif
