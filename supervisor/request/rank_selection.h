/*
 * PURE: whom to ask for a checkpoint. Asking the wrong process costs the job: a signal without a
 * handler kills, a DataLoader worker that inherited the handler would save as well, and a launcher
 * ends its ranks.
 */
#ifndef RANK_SELECTION_H
#define RANK_SELECTION_H

#include "frameworks/frameworks.h"
#include "process/process.h"

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
	/* the child that was started */
	pid_t main_pid;
	int signal;
	enum profile_target whom;
	/* seen writing checkpoints; may be NULL */
	const pid_t *writers;
	size_t writer_count;
	/* for this request already: neither they nor another process of their rank
	 * are chosen again */
	const struct rank *asked;
	size_t asked_count;
};

struct rank_selection {
	/* in the order of the table; each has a handler for the signal */
	struct rank *ranks;
	size_t count;
	/* so many ranks are to hear it, those that were asked before and those
	 * without a handler yet included */
	size_t expected;
	/* where count is 0: why, for people */
	char reason[160];
};

/*
 * `tree` has parents before their children. In this order:
 *   1. of each rank in the environment (RANK, that of MPI, LOCAL_RANK), the topmost process that
 *      catches the signal;
 *   2. of the writers, those that catch it, and whoever runs the same script beside them;
 *   3. from the main process down, the first that catch it, and nobody below them.
 * Launchers and DataLoader workers are never chosen; a shell or another wrapper that catches it
 * only where nobody below it does. Of 1 to 3, `whom` may then leave one. After the first time
 * (`asked`), only ranks of 1 that were not ready before.
 */
void rank_selection_make(const struct process_tree *tree, const struct rank_criteria *criteria,
			 struct rank_selection *selection);
void rank_selection_release(struct rank_selection *selection);

static inline void cleanup_rank_selection_release(struct rank_selection *selection)
{
	rank_selection_release(selection);
}

#endif
