/*
 * Asks the job for a checkpoint: a signal to its own process, checked against what that process
 * handles before it is sent, a flag that it polls (then no signal), or a command. A job or a rank
 * that cannot be asked yet (it is still starting) is tried again until checkpoint_request_stop().
 * Nothing is ever sent twice for one request, because handlers of trainers are not re-entrant.
 */
#ifndef CHECKPOINT_REQUEST_H
#define CHECKPOINT_REQUEST_H

#include "base/loop.h"
#include "frameworks/frameworks.h"
#include "process/process.h"
#include "rank_selection.h"

#include <stdbool.h>
#include <sys/types.h>

enum request_method {
	/* forward SIGTERM where the job handles it */
	REQUEST_AUTO,
	/* the job's own checkpoints are what there is */
	REQUEST_NONE,
	REQUEST_SIGNAL,
	REQUEST_COMMAND,
	/* shim/reprieve.h; under AUTO, and where the profile decides, as
	 * well once a process polls */
	REQUEST_FLAG,
};

struct checkpoint_request_callbacks {
	/* The request goes out now: what the job writes from here on may be the answer to it. A
	 * fast job answers before `asked`. */
	void (*on_request_sending)(void *arg);
	/* The request is out; `ranks` is empty for a command. Again for ranks that were not ready
	 * the first time. So many are expected to hear it in the end. */
	void (*asked)(void *arg, const struct rank *ranks, size_t count, size_t expected);
	/* It cannot be done, now or ever: one sentence. Told once a request; trying goes on where
	 * that makes sense. */
	void (*on_request_failed)(void *arg, const char *why);
	/* Pids that have written checkpoints, for the choice of whom to ask. Returns how many. */
	size_t (*writers)(void *arg, pid_t *pids, size_t most);
	/* Processes that poll the flag; and to raise it. */
	size_t (*count_polling_processes)(void *arg);
	void (*raise)(void *arg);
	void *arg;
};

struct checkpoint_request {
	struct loop *loop;
	/* never REQUEST_AUTO: that is REQUEST_SIGNAL with SIGTERM and `may_flag` */
	enum request_method method;
	bool may_flag; /* a flag rather than a signal, once a process polls it */
	int signal;
	enum profile_target whom;
	const char *command;
	const char *const *environment; /* "NAME=value" for the command; borrowed */
	const struct signals_inherited *inherited;
	struct checkpoint_request_callbacks callbacks;

	struct timer retry_timer; /* the rest is private */
	pid_t child;
	pid_t command_pid;
	struct rank *asked; /* for this request */
	size_t asked_count;
	bool failure_reported, retrying;
	bool by_flag; /* this request went out so; may be read */
};

/* `ask` is filled in by the caller down to `callbacks`; `child` is the job's main process. */
void checkpoint_request_start(struct checkpoint_request *request, pid_t child);
/* Whether a signal now would reach a process that handles it, or has done so in this request.
 * Looks as asking does. */
bool checkpoint_request_has_target(const struct checkpoint_request *request, pid_t child);
/* Whether this request went to that process, as a signal. */
bool checkpoint_request_has_signalled(const struct checkpoint_request *request, pid_t pid);
/* No further tries. What was asked stays asked. */
void checkpoint_request_stop(struct checkpoint_request *request);
void checkpoint_request_release(struct checkpoint_request *request);
/* A process was reaped: if it was the command, its failure is told through
 * `hindered`. True if it was. */
bool checkpoint_request_reaped(struct checkpoint_request *request, pid_t pid, int status);

#endif
