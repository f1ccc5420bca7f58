/*
 * PURE. Schedulers disagree on what an exit code means. A policy says which codes one scheduler
 * gets, and how to configure it to act on them. exit_policy.c names the source of each row.
 */
#ifndef EXIT_POLICY_H
#define EXIT_POLICY_H

#include "outcome.h"

#include <stdio.h>

struct exit_policy {
	const char *name;  /* for --exit-policy and `reprieve explain exit --for` */
	const char *title; /* of the scheduler */
	int preempted;     /* replaces EXIT_PREEMPTED; 0: not replaced */
	int not_durable;   /* replaces EXIT_NOT_DURABLE; 0: not replaced */
	const char *setup; /* its configuration, to copy */
	const char *why;   /* how the scheduler reads exit codes: a sentence or two */
};

extern const struct exit_policy exit_policy_table[];
extern const size_t exit_policy_count;

/* NULL: no policy has this name. */
const struct exit_policy *exit_policy_find(const char *name);

/* The exit code for `outcome` under `policy` (NULL: nothing is mapped). Only our own codes are
 * mapped: a code that the job exited with by itself stays. */
int exit_policy_code(const struct exit_policy *policy, const struct outcome *outcome);

/* "posix, k8s, ..."; the caller frees. */
char *exit_policy_names(void);

#endif
