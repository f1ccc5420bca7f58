/*
 * Signals as data. They are blocked first thing in main() and read from a signalfd by the loop: no
 * handler does anything, and no signal that arrives early is lost (runtimes send the stop signal
 * once). What was inherited is remembered for the child.
 */
#ifndef SIGNALS_H
#define SIGNALS_H

#include "base/loop.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/signalfd.h>

/* What this process was started with: of dispositions, only "ignored" survives an exec. */
struct signals_inherited {
	sigset_t mask;
	sigset_t ignored;
};

struct signals {
	struct source source; /* the loop's */
	/* SIGCHLD comes here too. Several signals of one kind may come as one. */
	void (*received)(void *arg, const struct signalfd_siginfo *info);
	void *arg;
};

/*
 * First thing in main(), before any thread. Blocks everything but SIGKILL, SIGSTOP and the
 * synchronous faults, for this thread and all later ones; resets SIGCHLD to its default, because an
 * inherited SIG_IGN would lose exit codes. SIGPIPE and SIGXFSZ are blocked rather than ignored: a
 * write fails with EPIPE or EFBIG all the same, and one that was sent to us can still be forwarded.
 * The kernel keeps blocked signals even where they are ignored, so one in `ignored` (SIGHUP under
 * nohup) is received as well: it is to be forwarded, but nobody meant us by it.
 */
void signals_block(struct signals_inherited *inherited);

/* Gives mask and dispositions back. Async-signal-safe: for use between fork and exec. */
void signals_restore(const struct signals_inherited *inherited);

/* Starts delivery on the loop, also of what came since signals_block(). `signals` must stay where
 * it is until closed. */
int signals_open(struct signals *signals, struct loop *loop,
		 void (*received)(void *arg, const struct signalfd_siginfo *info), void *arg,
		 struct err *err);
void signals_close(struct signals *signals, struct loop *loop);

/*
 * Stops this process, or its whole group, as the default action of `signal` does (SIGTSTP, SIGTTIN,
 * SIGTTOU; SIGSTOP counts as SIGTSTP), and returns once it was continued; the SIGCONT is consumed.
 * The kernel drops such a signal where nobody could continue us (orphaned group, PID 1): then it
 * returns at once. Main thread only.
 */
void signals_stop_self(int signal, bool group);

/*
 * Puts `group` into the foreground of the terminal on standard input; in the background the kernel
 * stops our group until a shell has brought it to the front, with nothing between the look and the
 * stop (tcsetpgrp(3)). False where that cannot be: no shell is left that would, or we were
 * continued for signals_termination_pending().
 */
bool signals_take_foreground(pid_t group);

/* One of those waits to be read that ask us to end: SIGHUP, SIGINT, SIGQUIT, SIGTERM. */
bool signals_termination_pending(void);

#endif
