/* Prints the verdict of a drill on stdout, for people or as one JSON object. */
#ifndef REPORT_H
#define REPORT_H

#include "drill/scenario.h"

/* `kept`: the scratch directory is not removed, so its path is printed. */
void report_print(const struct scenario *scenario, bool colour, bool kept);
void report_json(const struct scenario *scenario, bool kept);

/* The same as cases of JUnit; the caller frees. */
char *report_junit(const struct scenario *scenario);

#endif
