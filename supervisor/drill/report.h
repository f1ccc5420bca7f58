/* The verdict of a drill, for people or as one JSON object, on stdout. */
#ifndef REPORT_H
#define REPORT_H

#include "drill/scenario.h"

/* `kept`: the scratch directory stays, and it is worth saying where. */
void report_print(const struct scenario *scenario, bool colour, bool kept);
void report_json(const struct scenario *scenario, bool kept);

#endif
