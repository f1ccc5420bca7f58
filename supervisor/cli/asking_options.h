/* Rows of run_option_table.c for how, and how often, the job is asked for a checkpoint. Each as
 * run_option_table.h says of `set`. */
#ifndef ASKING_OPTIONS_H
#define ASKING_OPTIONS_H

#include "run_options.h"

int run_option_set_profile(struct job_config *options, const char *value, struct err *err);
int run_option_set_signal(struct job_config *options, const char *value, struct err *err);
int run_option_set_command(struct job_config *options, const char *value, struct err *err);
int run_option_set_every(struct job_config *options, const char *value, struct err *err);
int run_option_set_mtbf(struct job_config *options, const char *value, struct err *err);
int run_option_set_quiet_time(struct job_config *options, const char *value, struct err *err);

#endif
