/*
 * PURE. Selects the processes that get the request for a checkpoint. A signal to the wrong process
 * costs the job: a process without a handler dies, a DataLoader worker that inherited the handler
 * would save too, and a launcher ends its ranks.
 */
#ifndef RANK_SELECTION_H
#define RANK_SELECTION_H

#include "base/cleanup.h"

#include "frameworks/frameworks.h"
#include "process/process.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct rank {
	pid_t pid;
	uint64_t start_time; /* struct process */
	int64_t number;      /* PROCESS_NO_RANK: the job has no rank numbers */
};

struct rank_criteria {
	/* the job's main process */
	pid_t main_pid;
	int signal;
	enum profile_target whom;
	/* Processes that have written checkpoints, first those that have saved by themselves
	 * before; the others have begun with the save that is under way, as a copier does. May be
	 * NULL. */
	const pid_t *writers;
	size_t saver_count, writer_count;
	/* asked in this request already: no process of these ranks is selected again */
	const struct rank *asked;
	size_t asked_count;
};

struct rank_selection {
	/* in the order of the process tree; each has a handler for the signal */
	struct rank *ranks;
	size_t count;
	/* how many ranks are to be asked in all: with those asked before, and those that have no
	 * handler yet */
	size_t expected;
	/* if count is 0: why, for the user */
	char reason[160];
};

/*
 * `tree` has parents before their children. The first of these rules that finds a process is used:
 *   1. for each rank in the environment (RANK, MPI's rank, LOCAL_RANK), the topmost process that
 *      catches the signal;
 *   2. those that have saved before and catch it, and processes beside them that run the same
 *      script;
 *   3. from the main process downwards, the first processes that catch it;
 *   4. the topmost shell or other wrapper that catches it.
 * Launchers, copiers, DataLoader workers and, without a rank, writers that have not saved before
 * are never selected. `whom` may reduce the result to one rank. If `asked` is not empty, only ranks
 * of rule 1 are added that were not ready before.
 */
void rank_selection_make(const struct process_tree *tree, const struct rank_criteria *criteria,
			 struct rank_selection *selection);
void rank_selection_release(struct rank_selection *selection);
AUTO(struct rank_selection, rank_selection_release);

#endif
