/* Rows of run_option_table.c for who else is told what happens: schedulers, metrics, a webhook, the
 * store. Each as run_option_table.h says of `set`. */
#ifndef TELLING_OPTIONS_H
#define TELLING_OPTIONS_H

#include "run_options.h"

int run_option_set_exit_policy(struct job_config *options, const char *value, struct err *err);
int run_option_set_metrics(struct job_config *options, const char *value, struct err *err);
int run_option_set_metrics_file(struct job_config *options, const char *value, struct err *err);
int run_option_set_notify(struct job_config *options, const char *value, struct err *err);
int run_option_set_log(struct job_config *options, const char *value, struct err *err);
int run_option_add_label(struct job_config *options, const char *value, struct err *err);
int run_option_set_termination_log(struct job_config *options, const char *value, struct err *err);

#endif
