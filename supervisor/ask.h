/*
 * Asks the job for a checkpoint: a signal to its own process, checked against what that process handles before it is sent, or a
 * command. A job that cannot be asked yet (it is still starting) is tried again until ask_stop(). Nothing is ever sent twice
 * for one request, because handlers of trainers are not re-entrant.
 */
#ifndef ASK_H
#define ASK_H

#include "base/loop.h"
#include "options.h"
#include "signals.h"

#include <stdbool.h>
#include <sys/types.h>

struct ask_callbacks {
	/* The request goes out now: what the job writes from here on may be the answer to it. A fast job answers before `asked`. */
	void (*asking)(void *arg);
	/* The request is out; `pids` is empty for a command. */
	void (*asked)(void *arg, const pid_t *pids, size_t count);
	/* It cannot be done, now or ever: one sentence. Told once a request; trying goes on where that makes sense. */
	void (*hindered)(void *arg, const char *why);
	/* Pids that have written checkpoints, for the choice of whom to ask. Returns how many. */
	size_t (*writers)(void *arg, pid_t *pids, size_t most);
	void *arg;
};

struct ask {
	struct loop *loop;
	enum ask_method method; /* never ASK_AUTO: that is ASK_SIGNAL with SIGTERM and `gently` */
	int signal;
	const char *command;
	const char *const *environment; /* "NAME=value" for the command; borrowed */
	const struct signals_inherited *inherited;
	struct ask_callbacks callbacks;

	struct timer again; /* the rest is private */
	pid_t child;
	pid_t command_pid;
	bool told, trying;
};

/* `ask` is filled in by the caller down to `callbacks`; `child` is the job's main process. */
void ask_start(struct ask *ask, pid_t child);
/* No further tries. What was asked stays asked. */
void ask_stop(struct ask *ask);
/* A process was reaped: if it was the command, its failure is told through `hindered`. True if it was. */
bool ask_reaped(struct ask *ask, pid_t pid, int status);

#endif
