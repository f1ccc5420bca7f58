/*
 * PRIVATE. The options of `reprieve run` whose value is more than a number or a text: each reads it
 * into what its row of run_option_table.c points at. ERR_INVALID: the sentence says what to write.
 */
#ifndef RUN_OPTION_VALUES_H
#define RUN_OPTION_VALUES_H

#include "base/err.h"

int run_option_set_restore(void *run, const char *value, struct err *err);
int run_option_set_deadline(void *deadline, const char *value, struct err *err);
int run_option_set_signal(void *run, const char *value, struct err *err);
int run_option_set_command(void *run, const char *value, struct err *err);
int run_option_set_every(void *run, const char *value, struct err *err);
int run_option_set_quiet(void *verbosity, const char *value, struct err *err);
int run_option_set_verbose(void *verbosity, const char *value, struct err *err);
int run_option_add_label(void *labels, const char *value, struct err *err);
int run_option_add_running(void *patterns, const char *value, struct err *err);
int run_option_add_exclude(void *patterns, const char *value, struct err *err);
int run_option_add_include(void *patterns, const char *value, struct err *err);
int run_option_set_exit_policy(void *policy, const char *value, struct err *err);
int run_option_set_metrics(void *address, const char *value, struct err *err);
int run_option_set_notify(void *notify, const char *value, struct err *err);
int run_option_add_rewrite(void *signal_rules, const char *value, struct err *err);
int run_option_set_parent_death(void *signal_rules, const char *value, struct err *err);
int run_option_add_success_code(void *signal_rules, const char *value, struct err *err);

#endif
