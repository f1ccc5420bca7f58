/*
 * A run inside the job of another one (a script that was started by `reprieve run`, and starts it
 * once more) is by itself: it is not the other one's job, directory, member or file. So what says
 * which run one is, in the environment, is the outer run's, and no option of the inner one; only
 * its command line says that of it. What says how to run (the store, times, patterns) holds for
 * both.
 *
 * What a run tells its job and no option is called (REPRIEVE_MACHINE, REPRIEVE_STEP, ...) cannot be
 * taken for one. REPRIEVE_JOB and REPRIEVE_CHECKPOINT_DIR are both, since the other verbs take them
 * inside the job.
 */
#ifndef INSIDE_H
#define INSIDE_H

/* Every job is told it, and no option is called so: where it is set, a run is inside an attempt. */
#define INSIDE_VARIABLE "REPRIEVE_ATTEMPT"

#endif
