/* The variables that the job gets: REPRIEVE_*, the shim's, the profile's, those of its experiment
 * tracker. A variable that the user has set is not changed. */
#ifndef CHILD_ENVIRONMENT_H
#define CHILD_ENVIRONMENT_H

#include "base/cleanup.h"
#include "base/err.h"
#include "frameworks/frameworks.h"
#include "workspace/workspace.h"

#include <stdbool.h>
#include <stdint.h>

/* All borrowed. */
struct child_facts {
	const char *job;
	unsigned attempt; /* 0: none is claimed */
	bool resuming;
	int64_t step; /* that it resumes from; -1: unknown */
	struct workspace *workspace;
	unsigned members, member; /* of its gang; 1 member: there is none */
	/* Each NULL: there is none, and the variable stays unset. */
	const char *notice;  /* the file that appears on a notice */
	const char *channel; /* of the shim */
	const char *page;    /* of the job's own reports */
	const char *run;     /* of the experiment tracker: the same for all attempts */
	const struct profile *profile;
	bool like_slurm;             /* emulates Slurm (lightning_slurm.h) ... */
	const char *slurm_directory; /* ... with its programs here; NULL: not possible */
};

/* Zeroed at first. */
struct child_environment {
	char **pairs; /* "NAME=value", added for the job; NULL-terminated; owned */
};

/* Makes the directories that the variables name; what cannot be made is only logged. */
void child_environment_build(struct child_environment *environment,
			     const struct child_facts *facts);
/* Preloads the shim. On -1 the job can run without it. */
int child_environment_add_shim(struct child_environment *environment, const char *channel,
			       struct err *err);
void child_environment_release(struct child_environment *environment);
AUTO(struct child_environment, child_environment_release);

#endif
