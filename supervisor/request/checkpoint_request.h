/*
 * Asks the job for a checkpoint: a signal to its own process, checked against what that process handles before it is sent, a flag
 * that it polls (then no signal), or a command. A job or a rank that cannot be asked yet (it is still starting) is tried again until ask_stop(). Nothing is ever sent
 * twice for one request, because handlers of trainers are not re-entrant.
 */
#ifndef CHECKPOINT_REQUEST_H
#define CHECKPOINT_REQUEST_H

#include "base/loop.h"
#include "frameworks/frameworks.h"
#include "rank_selection.h"
#include "process/process.h"

#include <stdbool.h>
#include <sys/types.h>

enum ask_method {
	ASK_AUTO, /* forward SIGTERM where the job handles it */
	ASK_NONE, /* the job's own checkpoints are what there is */
	ASK_SIGNAL,
	ASK_COMMAND,
	ASK_FLAG, /* shim/reprieve.h; under AUTO, and where the profile decides, as well once a process polls */
};

struct ask_callbacks {
	/* The request goes out now: what the job writes from here on may be the answer to it. A fast job answers before `asked`. */
	void (*asking)(void *arg);
	/* The request is out; `ranks` is empty for a command. Again for ranks that were not ready the first time. So many are expected
	 * to hear it in the end. */
	void (*asked)(void *arg, const struct rank *ranks, size_t count, size_t expected);
	/* It cannot be done, now or ever: one sentence. Told once a request; trying goes on where that makes sense. */
	void (*hindered)(void *arg, const char *why);
	/* Pids that have written checkpoints, for the choice of whom to ask. Returns how many. */
	size_t (*writers)(void *arg, pid_t *pids, size_t most);
	/* Processes that poll the flag; and to raise it. */
	size_t (*polling)(void *arg);
	void (*raise)(void *arg);
	void *arg;
};

struct ask {
	struct loop *loop;
	enum ask_method method; /* never ASK_AUTO: that is ASK_SIGNAL with SIGTERM and `may_flag` */
	bool may_flag;          /* a flag rather than a signal, once a process polls it */
	int signal;
	enum profile_whom whom;
	const char *command;
	const char *const *environment; /* "NAME=value" for the command; borrowed */
	const struct signals_inherited *inherited;
	struct ask_callbacks callbacks;

	struct timer again; /* the rest is private */
	pid_t child;
	pid_t command_pid;
	struct rank *asked; /* for this request */
	size_t asked_count;
	bool told, trying;
	bool by_flag; /* this request went out so; may be read */
};

/* `ask` is filled in by the caller down to `callbacks`; `child` is the job's main process. */
void ask_start(struct ask *ask, pid_t child);
/* Whether a signal now would reach a process that handles it, or has done so in this request. Looks as asking does. */
bool ask_finds_anyone(const struct ask *ask, pid_t child);
/* Whether this request went to that process, as a signal. */
bool ask_has_asked(const struct ask *ask, pid_t pid);
/* No further tries. What was asked stays asked. */
void ask_stop(struct ask *ask);
void ask_release(struct ask *ask);
/* A process was reaped: if it was the command, its failure is told through `hindered`. True if it was. */
bool ask_reaped(struct ask *ask, pid_t pid, int status);

#endif
