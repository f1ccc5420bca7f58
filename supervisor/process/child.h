/*
 * The job's main process. It starts with the signal mask, the dispositions and the descriptors that
 * we were started with, gets the signals that we receive, and is reaped together with every orphan
 * that comes to us as PID 1 or subreaper. With a terminal, job control works as under a shell.
 */
#ifndef CHILD_H
#define CHILD_H

#include "base/err.h"
#include "signals.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

/* Who gets the terminal's signals: Ctrl-C and Ctrl-Z. */
enum child_terminal {
	/* own group in the background, or no terminal: we forward what we receive */
	CHILD_TERMINAL_NONE,
	/* own group in the foreground: the terminal signals it, not us */
	CHILD_TERMINAL_OWN,
	/* in a pipeline: the child stays in our group, because all of it needs the terminal */
	CHILD_TERMINAL_SHARED,
};

struct child_options {
	char *const *argv;        /* ends in NULL */
	const char *const *set;   /* "NAME=value"..., ends in NULL; may be NULL */
	const char *const *unset; /* "NAME"..., ends in NULL; may be NULL */
	const struct signals_inherited *inherited;
	bool to_group; /* forward signals to its whole process group */
};

struct child {
	pid_t pid;
	enum child_terminal terminal;
	pid_t group;     /* the child's process group */
	pid_t our_group; /* ours at the start: gets the terminal back */
	bool running;
	bool stopped; /* the child is stopped and we are not: see child_resume() */
	/* Set by whoever has heard a notice, until it is withdrawn: the child is to be told to end
	 * once its time has come, and we do not stop with it while it waits for the terminal. */
	bool ending;
	/* It was sent a signal to end, which one that stops before that does not see. */
	bool unseen;
	bool to_group;
	/* once it has ended: its own code, or 128 + signal; 126 or 127 if it could not be
	 * started */
	int exit_code;
	int status; /* as waitpid() gave it */
};

/*
 * Call it before the first descriptor is opened. Opens closed standard descriptors on /dev/null
 * (close-on-exec, so that the child finds them closed again), raises our soft limit of descriptors
 * and keeps the old one for child_spawn(), and makes us a subreaper if we are not PID 1. -1:
 * orphans of the job will not come to us, which deserves a warning; we can go on.
 */
int child_prepare(struct err *err);

/* Only the standard descriptors of child_prepare(): for verbs without a job. */
void child_fill_standard_descriptors(void);

/* Before anything is done for it: can this command be found, and may it be run? 0, or the exit code
 * of a shell, 127 or 126, with `err`. What only the exec tells (an interpreter that is missing), it
 * does not. */
int child_check_command(const char *command, struct err *err);

/* Our environment with the variables of `set` ("NAME=value") and without those of `unset`; both end
 * in NULL and may be NULL. The caller frees the array; the strings are borrowed. */
char **child_variables(const char *const *set, const char *const *unset);

/*
 * Starts the child and waits until its exec has succeeded. On -1, `exit_code` is that of a shell:
 * 127 if the command does not exist, 126 if it cannot be run; 70 if this system cannot start a
 * process at all.
 */
int child_spawn(const struct child_options *options, struct child *child, struct err *err);

/*
 * Forwards a received signal, except SIGCHLD and those that the terminal has sent to the child as
 * well. SIGCONT after Ctrl-Z gives the child the terminal back if we are in the foreground.
 */
void child_forward(struct child *child, const struct signalfd_siginfo *info);

/* Continues a stopped child, so that it receives a signal that was sent to it. Does nothing if
 * it is not stopped, or if a shell is to continue it. */
void child_resume(struct child *child);

/* Another child of ours, left behind by the main process, takes its place: it gets the signals, and
 * child_reap() reports its end. Call it after the main process has ended. */
void child_adopt(struct child *child, pid_t pid);

/* Sends a signal to the main process alone. Does nothing once it has ended. */
void child_signal(struct child *child, int signal);

/* Sends a signal to the receivers of child_forward(). */
void child_forward_signal(struct child *child, int signal);

/* Would child_forward_signal() reach that process? */
bool child_forwards_to(const struct child *child, pid_t pid);

/*
 * Call it after SIGCHLD. Reaps every ended process and calls `reaped` (may be NULL) for each, the
 * main process included. If the terminal stopped the child, we stop as well, and this function
 * blocks until we are continued. True: the main process has ended in this call; `exit_code` is set,
 * and the terminal is ours again.
 */
bool child_reap(struct child *child, void (*reaped)(void *arg, pid_t pid, int status), void *arg);

#endif
