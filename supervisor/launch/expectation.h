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
#ifndef EXPECTATION_H
#define EXPECTATION_H

#include "frameworks/frameworks.h"

#include <stdbool.h>

enum expectation {
	EXPECT_NOTHING,    /* as far as can be seen, the command may be anything */
	EXPECT_BY_COMMAND, /* it was recognised as training */
	EXPECT_BY_OPTION,
};

/* Without an option that says so: by the command, and its profile (NULL: it has none). */
enum expectation expectation_of(char *const *command, const struct profile *profile);
/* "bash -c 'cd a && reprieve run -- python train.py'": the inner run has the directory. */
bool expectation_starts_another_run(char *const *command);

#endif
