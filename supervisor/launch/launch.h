/*
 * supervisor/launch/: what the command is started with, and what is expected of it.
 *
 * launch.c: does it save checkpoints, and what does the run take for itself by that? Can it be run
 * at all? The variables that it gets.
 */
#ifndef LAUNCH_H
#define LAUNCH_H

#include "base/cleanup.h"
#include "base/err.h"
#include "frameworks/frameworks.h"
#include "workspace/workspace.h"

#include <stdbool.h>
#include <stdint.h>

/* --- the variables --- */

/* The variables that the job gets: REPRIEVE_*, the shim's, the profile's, those of its experiment
 * tracker. A variable that the user has set is not changed. */

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
	bool like_slurm;             /* emulates Slurm (lightning_slurm.c) ... */
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

/* --- can it be run? --- */

/* Can the command be run? */

/* 0, or the exit code of a shell that cannot run it, with a sentence. What may come into the
 * checkpoint `directory` with the restore is not judged. */
int command_check(const char *command, const char *directory, struct err *err);

/* --- does it save checkpoints? --- */

/*
 * PURE, but for the environment. Are checkpoints expected of a command, before it has written any?
 *
 * THE START. What the run has to itself (the lock on the checkpoint directory, the job's name in
 * the store, an attempt) it takes before the command starts if checkpoints are expected: an option
 * says so (--store, --job, --checkpoint-dir, --checkpoint-signal, --restore ...), the command is
 * recognised as training, or the directory has files already, or the store knows the job. Any other
 * command may be `make` or `ls`: it is started at once, nothing is made on the disk, and all of
 * this is taken when the command first writes below the checkpoint directory, before that
 * checkpoint is complete. Of two runs in one directory the later one is not started (exit 70); or,
 * if it has started already, it is told at its first write that nothing of it will be saved.
 */

enum expectation {
	EXPECT_NOTHING,    /* as far as can be seen, the command may be anything */
	EXPECT_BY_COMMAND, /* it was recognised as training */
	EXPECT_BY_OPTION,
};

/* Without an option that says so: by the command, and its profile (NULL: it has none). */
enum expectation expectation_of(char *const *command, const struct profile *profile);
/* Has it a script by whose name people know a training (train.py, finetune.py)? Nothing is claimed
 * for that: two of them may run in one directory. */
bool expectation_is_called_training(char *const *command);
/* "bash -c 'cd a && reprieve run -- python train.py'": the inner run has the directory. */
bool expectation_starts_another_run(char *const *command);

#endif
