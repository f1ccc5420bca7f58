/*
 * PURE. Schedulers disagree on what an exit code means. A policy says which codes one of them is
 * told, and how it is set up to act on them.
 */
#ifndef EXIT_POLICY_H
#define EXIT_POLICY_H

#include "outcome.h"

#include <stdio.h>

struct exit_policy {
	const char *name;  /* for --exit-policy and `reprieve explain exit --for` */
	const char *title; /* of the scheduler */
	int preempted;     /* what it is told instead of EXIT_PREEMPTED; 0: just that */
	int not_durable;   /* instead of EXIT_NOT_DURABLE; 0: just that */
	const char *why;   /* how that scheduler reads codes: a sentence or two */
	const char *setup; /* to copy: what belongs into its configuration */
};

extern const struct exit_policy exit_policy_table[];
extern const size_t exit_policy_count;

/* NULL: there is none of that name. */
const struct exit_policy *exit_policy_find(const char *name);

/* The code for `outcome` under `policy` (NULL: the first row, which changes nothing). Only our own
 * words are translated: a code that the job ended with by itself stays. */
int exit_policy_code(const struct exit_policy *policy, const struct outcome *outcome);

/* "posix, k8s, ..."; the caller frees. */
char *exit_policy_names(void);

#endif
