/*
 * Holds back a SIGTERM from outside the job until the supervisor releases it, whether the
 * application has a handler or would die. The kernel has our handler installed; the application
 * sees its own, because hooks_signals.c asks here. PROTOCOL.md has the rules.
 */
#ifndef SIGTERM_HANDLER_H
#define SIGTERM_HANDLER_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Our handler is installed in this process. */
extern atomic_bool sigterm_handler_installed;

/* Installs the handler if the supervisor wants it and can be identified here. Call only after
 * channel_ready(). */
void sigterm_handler_install(void);

/* Call in a child of fork(): a signal that the parent holds is the parent's. */
void sigterm_handler_forked(void);

/* sigaction() for SIGTERM and SHIM_MARK_SIGNAL, as the application sees it. Only with
 * sigterm_handler_installed. */
int sigterm_handler_sigaction(int signal, const struct sigaction *action, struct sigaction *old);

/*
 * Call these around a function of libc that sets a handler for one of those two signals in its own
 * way: they take over the handler it has set. `returned` is what it returned; the result is what
 * the application gets. Only with sigterm_handler_installed.
 */
typedef void sigterm_handler_fn(int signal);
void sigterm_handler_begin_change(void);
sigterm_handler_fn *sigterm_handler_end_change(int signal, sigterm_handler_fn *returned);

/* A signal that is a notice to the supervisor, and goes to every process (SIGUSR2 of Grid
 * Engine's): the kernel ignores it in a process that has no handler for it, and the application
 * sees SIG_DFL. */
bool sigterm_handler_is_notice(int signal);
/* sigaction() for such a signal, as the application sees it. */
int sigterm_handler_set_notice(int signal, const struct sigaction *action, struct sigaction *old);

#endif
