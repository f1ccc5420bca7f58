/* Reports a drill that has been played: for people, as JSON on stdout, or as JUnit's XML, which CI
 * systems show: one case for each preemption, the last run and the comparison, and one for the
 * whole. What has not passed is a failure there, UNPROVEN too: its type says which. */
#ifndef REPORT_H
#define REPORT_H

#include "scenario.h"

/* The whole drill; `reason` gets what the last line says of it. */
enum drill_result report_result(const struct scenario *scenario, char *reason, size_t capacity);

/* `kept`: the scratch directory stays, and is named. */
void report_print(const struct scenario *scenario, bool kept);
void report_json(const struct scenario *scenario, bool kept);

/* The whole file; the caller frees. `scenario`: NULL, there is no verdict, because of `why`. */
char *report_junit(const struct scenario *scenario, const char *why);

#endif
