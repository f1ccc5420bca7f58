/* Rows of run_option_table.c for who else is told what happens: schedulers, metrics, a webhook, the store. Each as run_option_table.h says of `set`. */
#ifndef TELLING_OPTIONS_H
#define TELLING_OPTIONS_H

#include "run_options.h"

int telling_options_set_exit_policy(
	struct run_options *options, const char *value, struct err *err);
int telling_options_set_metrics(struct run_options *options, const char *value, struct err *err);
int telling_options_set_metrics_file(
	struct run_options *options, const char *value, struct err *err);
int telling_options_set_notify(struct run_options *options, const char *value, struct err *err);
int telling_options_set_log(struct run_options *options, const char *value, struct err *err);
int telling_options_add_label(struct run_options *options, const char *value, struct err *err);
int telling_options_set_termination_log(
	struct run_options *options, const char *value, struct err *err);

#endif
