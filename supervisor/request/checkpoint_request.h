/*
 * Asks the job for a checkpoint: by a signal to its processes, by a flag that they poll, or by a
 * command. A signal is sent only to a process that has a handler for it. A job or rank that cannot
 * be asked yet, because it is still starting, is tried again until checkpoint_request_stop(). A
 * process gets at most one signal for each request, because handlers of trainers are not
 * re-entrant. Lives on the loop.
 */
#ifndef CHECKPOINT_REQUEST_H
#define CHECKPOINT_REQUEST_H

#include "base/cleanup.h"
#include "base/loop.h"
#include "core/core.h"
#include "frameworks/frameworks.h"
#include "process/process.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * PURE. Selects the processes that get the request for a checkpoint. A signal to the wrong process
 * costs the job: a process without a handler dies, a DataLoader worker that inherited the handler
 * would save too, and a launcher ends its ranks.
 */

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

struct checkpoint_request_callbacks {
	/* The request is about to be sent: later writes of the job may answer it. A fast job
	 * answers before `asked` is called. */
	void (*on_request_sending)(void *arg);
	/* The request was sent to `ranks` (none for a command). Called again for ranks that were
	 * not ready the first time. `expected`: how many are to get it in the end. */
	void (*asked)(void *arg, const struct rank *ranks, size_t count, size_t expected);
	/* The request could not be sent; `why` is a sentence. Called at most once for each request.
	 * Further tries follow if they can succeed. */
	void (*on_request_failed)(void *arg, const char *why);
	/* Fills in the PIDs of processes that have written checkpoints; returns their number.
	 * *savers: of these, the first ones have saved before (struct rank_criteria). */
	size_t (*writers)(void *arg, pid_t *pids, size_t most, size_t *savers);
	/* Number of processes that poll the flag. */
	size_t (*count_polling_processes)(void *arg);
	/* Raises the flag. */
	void (*raise)(void *arg);
	void *arg;
};

struct checkpoint_request {
	struct loop *loop;
	/* not REQUEST_AUTO: set REQUEST_SIGNAL, SIGTERM and `may_flag` instead */
	enum request_method method;
	bool may_flag; /* use the flag instead of the signal once a process polls */
	int signal;
	enum profile_target whom;
	const char *command;
	const char *const *environment; /* "NAME=value" for the command; borrowed */
	const struct signals_inherited *inherited;
	struct checkpoint_request_callbacks callbacks;

	/* the members below are private, except `by_flag` */
	struct timer retry_timer;
	pid_t child;
	pid_t command_pid;
	/* ranks that got the signal in this request */
	struct rank *asked;
	size_t asked_count;
	/* when that began: before any of them can have got it */
	int64_t sent_ms;
	bool failure_reported, retrying;
	/* this request was sent by the flag */
	bool by_flag;
};

/* Sends a new request. The caller has set all members of `request` down to `callbacks`. `child`:
 * the job's main process. Reads /proc: some 20 us for each process of the machine. */
void checkpoint_request_start(struct checkpoint_request *request, pid_t child);
/* Would a signal sent now reach a process that handles it, or was one sent in this request? Reads
 * /proc as well. */
bool checkpoint_request_has_target(const struct checkpoint_request *request, pid_t child);
/* Was the signal sent to this process in this request, which was begun later than `since_ms`? */
bool checkpoint_request_has_signalled(const struct checkpoint_request *request, pid_t pid,
				      int64_t since_ms);
/* Ends the tries. A signal that was sent cannot be taken back. */
void checkpoint_request_stop(struct checkpoint_request *request);
void checkpoint_request_release(struct checkpoint_request *request);
/* A process was reaped. True: it was the checkpoint command; a failure of it is reported through
 * `on_request_failed`. */
bool checkpoint_request_reaped(struct checkpoint_request *request, pid_t pid, int status);

#endif
