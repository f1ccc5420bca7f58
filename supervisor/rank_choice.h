/*
 * PURE: whom to ask for a checkpoint. Asking the wrong process costs the job: a signal without a handler kills, a DataLoader
 * worker that inherited the handler would save as well, and a launcher ends its ranks.
 */
#ifndef RANK_CHOICE_H
#define RANK_CHOICE_H

#include "process_tree.h"

#include <stddef.h>
#include <sys/types.h>

struct rank_choice {
	pid_t *pids; /* in the order of the table; each has a handler for the signal */
	size_t count;
	char reason[160]; /* where count is 0: why, for people */
};

/*
 * `tree` has parents before their children. `main_pid` is the child that was started; `writers` are pids that were seen writing
 * checkpoints, may be NULL. In this order:
 *   1. of each RANK (else LOCAL_RANK) in the environment, the topmost process that catches the signal;
 *   2. of the writers, those that catch it;
 *   3. from the main process down, the first that catch it, and nobody below them.
 * Launchers are never chosen; a shell or another wrapper that catches it only where nobody below it does.
 */
void rank_choice_make(const struct process_tree *tree, pid_t main_pid, int signal,
	const pid_t *writers, size_t writer_count, struct rank_choice *choice);
void rank_choice_release(struct rank_choice *choice);

static inline void cleanup_rank_choice_release(struct rank_choice *choice)
{
	rank_choice_release(choice);
}

/* What stands between us and the ranks, by its command line. */
enum rank_choice_role {
	ROLE_JOB,     /* does the work, as far as can be seen */
	ROLE_WRAPPER, /* bash, tini, conda run: a handler there is the user's */
	ROLE_LAUNCHER, /* torchrun, mpirun, srun: takes a signal for the end of its ranks, or sends it to all of them */
};
enum rank_choice_role rank_choice_role(const struct process *process);

#endif
