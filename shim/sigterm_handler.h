/*
 * Keeps a SIGTERM that came from outside of the job until the supervisor lets go of it, whether the
 * application has a handler or would die. The kernel's handler is ours; the application sees its
 * own, because hooks_signals.c asks here. PROTOCOL.md has the rules.
 */
#ifndef SIGTERM_HANDLER_H
#define SIGTERM_HANDLER_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

/* SIGTERM is ours in this process. */
extern atomic_bool sigterm_handler_installed;

/* Only after channel_ready(): takes SIGTERM over if the supervisor wants it and
 * can be known here. */
void sigterm_handler_install(void);

/* In a child of fork(): what the parent keeps is the parent's. */
void sigterm_handler_forked(void);

/* Only with sigterm_handler_installed. sigaction() for SIGTERM and SHIM_MARK_SIGNAL, as the
 * application sees it. */
int sigterm_handler_sigaction(int signal, const struct sigaction *action, struct sigaction *old);

/*
 * Only with sigterm_handler_installed, around a function of libc's that sets a handler for one of
 * them by a way of its own: takes over what it has set. `returned`: what it returned; the result is
 * what the application is to see.
 */
typedef void sigterm_handler_fn(int signal);
void sigterm_handler_begin_change(void);
sigterm_handler_fn *sigterm_handler_end_change(int signal, sigterm_handler_fn *returned);

#endif
