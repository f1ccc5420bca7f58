/* Handlers for SIGTERM, which the shield keeps before them. All other signals go through. */
#include "hooks.h"

#include "libc_symbols.h"
#include "sigterm_handler.h"
#include "shim.h"

#include <errno.h>
#include <signal.h>

/* The functions of old standards are deprecated, and used. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

typedef shield_handler_fn handler;

/* glibc declares these only for old standards, or not at all. */
handler *bsd_signal(int signal, handler *action);
handler *ssignal(int signal, handler *action);
handler *sysv_signal(int signal, handler *action);
handler *__sysv_signal(int signal, handler *action);
handler *sigset(int signal, handler *action);
int sigignore(int signal);
int siginterrupt(int signal, int interrupts);

static bool concerns_shield(int signal)
{
	return __builtin_expect(signal == SIGTERM || signal == SHIM_MARK_SIGNAL, 0) &&
	       atomic_load(&shield_is_here);
}

EXPORT int sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
	__typeof__(&sigaction) next = REAL(sigaction);

	if (concerns_shield(signal))
		return shield_sigaction(signal, action, old);
	if (next)
		return next(signal, action, old);
	errno = ENOSYS;
	return -1;
}

static handler *set(int signal, handler *action, handler *(*next)(int, handler *))
{
	if (!next) {
		errno = ENOSYS;
		return SIG_ERR;
	}
	if (!concerns_shield(signal))
		return next(signal, action);
	shield_begin();
	return shield_end(signal, next(signal, action));
}

EXPORT handler *signal(int number, handler *action)
{
	return set(number, action, REAL(signal));
}

EXPORT handler *bsd_signal(int signal, handler *action)
{
	return set(signal, action, REAL(bsd_signal));
}

EXPORT handler *ssignal(int signal, handler *action)
{
	return set(signal, action, REAL(ssignal));
}

EXPORT handler *sysv_signal(int signal, handler *action)
{
	return set(signal, action, REAL(sysv_signal));
}

EXPORT handler *__sysv_signal(int signal, handler *action)
{
	return set(signal, action, REAL(__sysv_signal));
}

EXPORT handler *sigset(int signal, handler *action)
{
	return set(signal, action, REAL(sigset));
}

static int change(int signal, int result)
{
	shield_end(signal, SIG_DFL);
	return result;
}

EXPORT int sigignore(int signal)
{
	__typeof__(&sigignore) next = REAL(sigignore);

	if (!next) {
		errno = ENOSYS;
		return -1;
	}
	if (!concerns_shield(signal))
		return next(signal);
	shield_begin();
	return change(signal, next(signal));
}

EXPORT int siginterrupt(int signal, int interrupts)
{
	__typeof__(&siginterrupt) next = REAL(siginterrupt);

	if (!next) {
		errno = ENOSYS;
		return -1;
	}
	if (!concerns_shield(signal))
		return next(signal, interrupts);
	shield_begin();
	return change(signal, next(signal, interrupts));
}
