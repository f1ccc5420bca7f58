/*
 * PURE: whom to ask for a checkpoint. Asking the wrong process costs the job: a signal without a handler kills, a DataLoader
 * worker that inherited the handler would save as well, and a launcher ends its ranks.
 */
#ifndef RANK_SELECTION_H
#define RANK_SELECTION_H

#include "process/process.h"
#include "frameworks/frameworks.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct rank {
	pid_t pid;
	uint64_t start_time; /* struct process */
	int64_t number;      /* PROCESS_NO_RANK where the job has none */
};

struct rank_criteria {
	pid_t main_pid; /* the child that was started */
	int signal;
	enum profile_target whom;
	const pid_t *writers; /* seen writing checkpoints; may be NULL */
	size_t writer_count;
	const struct rank *
		asked; /* for this request already: neither they nor another process of their rank are chosen again */
	size_t asked_count;
};

struct rank_selection {
	struct rank *ranks; /* in the order of the table; each has a handler for the signal */
	size_t count;
	size_t expected; /* so many ranks are to hear it, those that were asked before and those without a handler yet included */
	char reason[160]; /* where count is 0: why, for people */
};

/*
 * `tree` has parents before their children. In this order:
 *   1. of each rank in the environment (RANK, that of MPI, LOCAL_RANK), the topmost process that catches the signal;
 *   2. of the writers, those that catch it, and whoever runs the same script beside them;
 *   3. from the main process down, the first that catch it, and nobody below them.
 * Launchers and DataLoader workers are never chosen; a shell or another wrapper that catches it only where nobody below it does.
 * Of 1 to 3, `whom` may then leave one. After the first time (`asked`), only ranks of 1 that were not ready before.
 */
void rank_selection_make(const struct process_tree *tree, const struct rank_criteria *criteria,
	struct rank_selection *selection);
void rank_selection_release(struct rank_selection *selection);

static inline void cleanup_rank_selection_release(struct rank_selection *selection)
{
	rank_selection_release(selection);
}

#endif
