/* Prints the verdict of a gang's drill on stdout, for people or as one JSON object. */
#ifndef GANG_REPORT_H
#define GANG_REPORT_H

#include "drill/gang_scenario.h"

/* `kept`: the scratch directory is not removed, so its path is printed. */
void gang_report_print(const struct gang_scenario *scenario, bool colour, bool kept);
void gang_report_json(const struct gang_scenario *scenario, bool kept);

/* The same as cases of JUnit; the caller frees. */
char *gang_report_junit(const struct gang_scenario *scenario);

#endif
