/*
 * A run inside the job of another one (a script that was started by `reprieve run`, and starts it
 * once more) is by itself: it is not the other one's job, directory, member or file. What says how
 * to run (the store, times, patterns) holds for both.
 *
 * A run hands on to its job, under names that are no options (REPRIEVE_OUTER_JOB,
 * REPRIEVE_OUTER_SLURM_JOB_ID), what its job sees in the variables that say which run one is, or
 * where that one alone writes, and in those that a scheduler gives to each of its jobs. From there
 * on two rules hold, both by comparison and by nothing else:
 *
 *   - Such a variable is the outer run's as long as it has the value that was handed on. It is no
 *     option of another run then. One that was set or changed since is an option, as everywhere.
 *   - A run is inside if the scheduler's job is the outer run's, or if there is none. A batch job
 *     that a job submits inherits its environment (`sbatch --export=ALL`), and is not inside: the
 *     scheduler's words are its own.
 *
 * What a run tells its job and no option is called (REPRIEVE_MACHINE, REPRIEVE_STEP, ...) cannot be
 * taken for one. REPRIEVE_JOB and REPRIEVE_CHECKPOINT_DIR are both, since the other verbs take them
 * inside the job.
 */
#ifndef INSIDE_H
#define INSIDE_H

#include <stdbool.h>
#include <stddef.h>

/* Every job is told it, and no option is called so. */
#define INSIDE_VARIABLE "REPRIEVE_ATTEMPT"

typedef const char *(*inside_getenv_fn)(void *arg, const char *name);
/* getenv(3); `arg` is not looked at. */
const char *inside_getenv(void *arg, const char *name);

/* PURE. Whether this process is in the job of another run. */
bool inside_run(inside_getenv_fn get, void *arg);

/* PURE. Whether the variable is set, and to what an outer run has handed on. */
bool inside_is_of_outer(const char *variable, inside_getenv_fn get, void *arg);

/* "REPRIEVE_OUTER_JOB" for "REPRIEVE_JOB"; returns `text`. */
#define INSIDE_NAME_SIZE 64
const char *inside_outer_name(const char *variable, char text[INSIDE_NAME_SIZE]);

/* The variables that are handed on, NULL after the last. */
extern const char *const inside_handed_on[];

#endif
