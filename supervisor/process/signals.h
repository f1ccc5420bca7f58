/*
 * Signals as data: main() blocks them first of all, and the loop reads them from a signalfd. So no
 * code runs in handlers, and no early signal is lost (container runtimes send the stop signal only
 * once). The inherited mask and dispositions are kept for the child.
 */
#ifndef SIGNALS_H
#define SIGNALS_H

#include "base/loop.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/signalfd.h>

/* Inherited signal state: of all dispositions, only "ignored" survives an exec. */
struct signals_inherited {
	sigset_t mask;
	sigset_t ignored;
};

struct signals {
	struct source source; /* in the loop */
	/* Called for each signal, SIGCHLD too. Several signals of one kind may be reported once. */
	void (*received)(void *arg, const struct signalfd_siginfo *info);
	void *arg;
};

/*
 * Call it first in main(), before any thread is started. Blocks all signals but SIGKILL, SIGSTOP
 * and the synchronous faults, for this thread and all later ones. Resets SIGCHLD to its default,
 * because with an inherited SIG_IGN exit codes would be lost.
 *
 * SIGPIPE and SIGXFSZ are blocked, not ignored: writes fail with EPIPE or EFBIG all the same, and a
 * signal that somebody sent can still be forwarded. The kernel queues a blocked signal even if it
 * is ignored, so that a signal in `ignored` (SIGHUP under nohup) is received as well. It is to be
 * forwarded, but must not end us.
 */
void signals_block(struct signals_inherited *inherited);

/* Restores the inherited mask and dispositions. Async-signal-safe: for use between fork and
 * exec. */
void signals_restore(const struct signals_inherited *inherited);

/* Begins to deliver signals on the loop, also those received since signals_block(). `signals` must
 * not move until it is closed. */
int signals_open(struct signals *signals, struct loop *loop,
		 void (*received)(void *arg, const struct signalfd_siginfo *info), void *arg,
		 struct err *err);
void signals_close(struct signals *signals, struct loop *loop);

/*
 * Stops this process, or its whole group, as the default action of `signal` does (SIGTSTP, SIGTTIN,
 * SIGTTOU; SIGSTOP counts as SIGTSTP). Blocks until we are continued, and consumes the SIGCONT. If
 * nobody could continue us (orphaned group, PID 1), the kernel drops the signal, and the function
 * returns at once. Main thread only.
 */
void signals_stop_self(int signal, bool group);

/*
 * Puts `group` into the foreground of the terminal on standard input (tcsetpgrp(3)). If we are in
 * the background, the kernel stops our group until a shell brings it to the foreground. False: no
 * shell is left that could, or we were continued because of signals_termination_pending().
 */
bool signals_take_foreground(pid_t group);

/* Is a signal queued that asks us to end: SIGHUP, SIGINT, SIGQUIT or SIGTERM? */
bool signals_termination_pending(void);

#endif
