/* Rows of run_option_table.c for how, and how often, the job is asked for a checkpoint. Each as run_option_table.h says of `set`. */
#ifndef ASKING_OPTIONS_H
#define ASKING_OPTIONS_H

#include "run_options.h"

int asking_options_set_profile(struct run_options *options, const char *value, struct err *err);
int asking_options_set_signal(struct run_options *options, const char *value, struct err *err);
int asking_options_set_command(struct run_options *options, const char *value, struct err *err);
int asking_options_set_every(struct run_options *options, const char *value, struct err *err);
int asking_options_set_mtbf(struct run_options *options, const char *value, struct err *err);
int asking_options_set_quiet_time(struct run_options *options, const char *value, struct err *err);

#endif
