/* Interposed functions that set signal handlers: the application gets its own SIGTERM handler
 * shown, while the kernel has ours (sigterm_handler.c). All other signals pass through. */
#include "hooks.h"

#include "channel_writer.h"
#include "libc_symbols.h"
#include "shim.h"

#include <errno.h>
#include <signal.h>

/* Programs still use the deprecated functions of old standards. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

typedef sigterm_handler_fn handler;

/* glibc declares these only for old standards, or not at all. */
handler *bsd_signal(int signal, handler *action);
handler *ssignal(int signal, handler *action);
handler *sysv_signal(int signal, handler *action);
handler *__sysv_signal(int signal, handler *action);
handler *sigset(int signal, handler *action);
int sigignore(int signal);
int siginterrupt(int signal, int interrupts);

static bool is_deferred(int signal)
{
	return __builtin_expect(signal == SIGTERM || signal == SHIM_MARK_SIGNAL, 0) &&
	       atomic_load(&sigterm_handler_installed);
}

EXPORT int sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
	__typeof__(&sigaction) next = LIBC(sigaction);

	if (is_deferred(signal))
		return sigterm_handler_sigaction(signal, action, old);
	if (sigterm_handler_is_notice(signal))
		return sigterm_handler_set_notice(signal, action, old);
	if (next)
		return next(signal, action, old);
	errno = ENOSYS;
	return -1;
}

static handler *set_handler(int signal, handler *action, handler *(*next)(int, handler *))
{
	if (!next) {
		errno = ENOSYS;
		return SIG_ERR;
	}
	if (sigterm_handler_is_notice(signal)) {
		handler *before = next(signal, action == SIG_DFL ? SIG_IGN : action);

		return before == SIG_IGN ? SIG_DFL : before;
	}
	if (!is_deferred(signal))
		return next(signal, action);
	sigterm_handler_begin_change();
	return sigterm_handler_end_change(signal, next(signal, action));
}

#define EXPORT_SIGNAL(name)                                     \
	EXPORT handler *name(int number, handler *action)       \
	{                                                       \
		return set_handler(number, action, LIBC(name)); \
	}
EXPORT_SIGNAL(signal)
EXPORT_SIGNAL(bsd_signal)
EXPORT_SIGNAL(ssignal)
EXPORT_SIGNAL(sysv_signal)
EXPORT_SIGNAL(__sysv_signal)
EXPORT_SIGNAL(sigset)

#define EXPORT_CHANGE(name, parameters, arguments)           \
	EXPORT int name parameters                           \
	{                                                    \
		__typeof__(&name) next = LIBC(name);         \
		int result;                                  \
                                                             \
		if (!next) {                                 \
			errno = ENOSYS;                      \
			return -1;                           \
		}                                            \
		if (!is_deferred(signal))                    \
			return next arguments;               \
		sigterm_handler_begin_change();              \
		result = next arguments;                     \
		sigterm_handler_end_change(signal, SIG_DFL); \
		return result;                               \
	}
EXPORT_CHANGE(sigignore, (int signal), (signal))
EXPORT_CHANGE(siginterrupt, (int signal, int interrupts), (signal, interrupts))
