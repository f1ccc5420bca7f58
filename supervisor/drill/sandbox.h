/* What the machines of one drill share: scratch directory, store, job; their copies of the user's
 * directory; and how each is started. */
#ifndef SANDBOX_H
#define SANDBOX_H

#include "instance.h"

struct scenario_options;

struct sandbox {
	const struct scenario_options *options;
	int signal;      /* has ended the drill early, SIGALRM: --timeout; 0: none */
	char *scratch;   /* absolute */
	char *from;      /* the user's working directory */
	char *store;     /* URL */
	char *job;       /* a new name, never that of a real job */
	unsigned port;   /* for the job's own rendezvous; free when the start began */
	char **left_out; /* absolute paths that no machine has; NULL behind the last */
};

/* PURE. "./out//ckpt/", or an absolute path below the absolute directory `from` -> "out/ckpt"; the
 * caller frees. NULL: it is not below it, or is the directory itself. Links are not resolved. */
char *path_below(const char *path, const char *from);

/* Creates the scratch directory. ERR_EXISTS: --directory is not empty. ERR_NO_SPACE: the user's
 * directory is too large for a copy at each machine. */
int sandbox_make(struct sandbox *sandbox, const struct scenario_options *options, struct err *err);
/* Frees the strings; the files stay. */
void sandbox_release(struct sandbox *sandbox);

/* Starts `reprieve run` on a machine, which gets its own copy of the user's directory, unless it
 * has one. `start` 0 is undisturbed. Blocks while that is copied; fails as sandbox_wait_turn(). */
int sandbox_start(struct sandbox *sandbox, struct instance *instance, unsigned start,
		  uint32_t member, struct err *err);

/* Sleeps for one turn, after which event logs and the clock are to be read again, or until a child
 * changes. ERR_CANCELLED: a signal asks the drill to end, or its time is over: `signal` is set. */
int sandbox_wait_turn(struct sandbox *sandbox, struct err *err);

#endif
