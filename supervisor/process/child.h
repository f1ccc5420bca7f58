/*
 * The job's main process: started as if nobody stood between, told of signals, and waited for
 * together with every orphan that falls to us as PID 1 or subreaper. With a terminal, job control
 * works as under a bare shell.
 */
#ifndef CHILD_H
#define CHILD_H

#include "base/err.h"
#include "signals.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

/* Who gets Ctrl-C and Ctrl-Z. */
enum child_terminal {
	/* own group in the background, or no terminal: what we receive is forwarded */
	CHILD_TERMINAL_NONE,
	/* own group in the foreground: the terminal signals it, not us */
	CHILD_TERMINAL_OWN,
	/* in a pipeline: it stays in our group, because the others in it need the terminal too */
	CHILD_TERMINAL_SHARED,
};

struct child_options {
	char *const *argv;        /* ends in NULL */
	const char *const *set;   /* "NAME=value"..., ends in NULL; may be NULL */
	const char *const *unset; /* "NAME"..., ends in NULL; may be NULL */
	const struct signals_inherited *inherited;
	bool to_group; /* child_forward() and child_forward_signal() mean its whole process group */
};

struct child {
	pid_t pid;
	enum child_terminal terminal;
	pid_t group;     /* the child's process group */
	pid_t our_group; /* ours at the start: gets the terminal back */
	bool running;
	bool stopped; /* and we are not: for child_resume() */
	bool to_group;
	/* once it has ended, or could not be started: its own, or 128 + signal; 126 or 127 */
	int exit_code;
	int status; /* as waitpid() gave it */
};

/*
 * Before the first descriptor is opened: closed standard descriptors are filled (close-on-exec, so
 * the child finds them closed again), the soft limit of descriptors is raised for us, and we become
 * subreaper where we are not PID 1. Returns -1 only when orphans will not come to us: worth a
 * warning, never an end. Remembers the old limit for child_spawn().
 */
int child_prepare(struct err *err);

/* That part of child_prepare() alone, for who has no job but opens descriptors and prints. */
void child_fill_standard_descriptors(void);

/*
 * Starts it and waits until its exec has worked. On -1, `exit_code` is what a shell would return:
 * 127 where the command does not exist, 126 where it cannot be run, and 70 where this system cannot
 * start a process at all.
 */
int child_spawn(const struct child_options *options, struct child *child, struct err *err);

/*
 * Passes on a signal that was received. Not those that the terminal has sent to the child as well,
 * nor SIGCHLD. SIGCONT after Ctrl-Z gives it the terminal back, if we are in the foreground.
 */
void child_forward(struct child *child, const struct signalfd_siginfo *info);

/* After a signal was obeyed: a stopped job gets none before it is continued. Does nothing to one
 * that is not stopped, or that somebody else is to continue. */
void child_resume(struct child *child);

/* Sends a signal to the main process alone. Does nothing once it has ended. */
void child_signal(struct child *child, int signal);

/* As child_forward() would pass it on. */
void child_forward_signal(struct child *child, int signal);

/* Whether child_forward_signal() reaches that process. */
bool child_forwards_to(const struct child *child, pid_t pid);

/*
 * After SIGCHLD. Reaps all there is; `reaped` (may be NULL) hears of every process that ended, the
 * main one too. When the terminal stopped the child, we stop as well until we are continued (then
 * this function goes on). Returns true when the main process has ended in this call: `exit_code` is
 * set, the terminal is ours again.
 */
bool child_reap(struct child *child, void (*reaped)(void *arg, pid_t pid, int status), void *arg);

#endif
