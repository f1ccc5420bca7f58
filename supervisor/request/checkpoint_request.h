/*
 * Asks the job for a checkpoint: by a signal to its processes, by a flag that they poll, or by a
 * command. A signal is sent only to a process that has a handler for it. A job or rank that cannot
 * be asked yet, because it is still starting, is tried again until checkpoint_request_stop(). A
 * process gets at most one signal for each request, because handlers of trainers are not
 * re-entrant. Lives on the loop.
 */
#ifndef CHECKPOINT_REQUEST_H
#define CHECKPOINT_REQUEST_H

#include "base/loop.h"
#include "core/core.h"
#include "frameworks/frameworks.h"
#include "process/process.h"
#include "rank_selection.h"

#include <stdbool.h>
#include <sys/types.h>

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
	 * *savers: of these, the first ones have saved before (rank_selection.h). */
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
