/* The SIGTERM handler that holds signals back (sigterm_handler.c). Everything in it is
 * async-signal-safe: it makes system calls and touches atomics. */
#include "channel_writer.h"

#include "libc_symbols.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define RECHECK_S 1
#define SPINS 1000

atomic_bool sigterm_handler_installed;
static atomic_bool notices_ignored;

/* The application's action for SIGTERM. on_sigterm() reads `application_handler`; the rest is
 * returned to callers of sigaction(). */
static _Atomic uintptr_t application_handler;
static struct sigaction application_action;
static atomic_bool action_busy; /* a lock: a thread is changing both */

static atomic_bool held; /* a SIGTERM is held back */
static siginfo_t held_info;
static int held_sender;        /* 0: unknown */
static int recheck_timer = -1; /* a POSIX timer; -1: none */

/* When the supervisor's last SIGTERM came: in `device`, where a record has room for it. */
static struct resolved_path last_from_supervisor;

static int libc_sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
	__typeof__(&sigaction) next = LIBC(sigaction);

	if (next)
		return next(signal, action, old);
	errno = ENOSYS;
	return -1;
}

/* Waits for another thread, but not forever: the holder may be this thread, interrupted by a
 * signal. Then one of the two changes wins, as it would without us. */
static void lock_action(void)
{
	for (int spin = 0; spin < SPINS && atomic_exchange(&action_busy, true); spin++) {
	}
}

static void unlock_action(void)
{
	atomic_store(&action_busy, false);
}

/* --- receiving a SIGTERM --- */

static void stop_recheck_timer(void)
{
	if (recheck_timer >= 0)
		syscall(SYS_timer_delete, recheck_timer);
	recheck_timer = -1;
}

/* Checks once a second, because the supervisor may die or lose our record. Also, the kernel keeps
 * only one of two pending SIGTERMs, so the one that releases ours may be lost. */
static void start_recheck_timer(void)
{
	struct sigevent event;
	struct timespec each[2] = {{.tv_sec = RECHECK_S}, {.tv_sec = RECHECK_S}};
	int timer;

	memset(&event, 0, sizeof(event));
	event.sigev_notify = SIGEV_SIGNAL;
	event.sigev_signo = SIGTERM;
	if (recheck_timer >= 0 || syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer) < 0)
		return;
	recheck_timer = timer;
	syscall(SYS_timer_settime, timer, 0, each, NULL);
}

static void hold_signal(const siginfo_t *info, int sender)
{
	if (!atomic_exchange(&held, true)) {
		held_info = *info;
		held_sender = sender;
		start_recheck_timer();
	}
	channel_send(SHIM_SIGTERM_HELD, held_sender, 0, &last_from_supervisor, NULL);
}

/* Dies by the signal as if there were no handler. */
static void die_by_signal(int signal)
{
	struct sigaction standard;
	uint64_t mask = UINT64_C(1) << (signal - 1);

	memset(&standard, 0, sizeof(standard));
	standard.sa_handler = SIG_DFL;
	libc_sigaction(signal, &standard, NULL);
	syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &mask, NULL, sizeof(mask));
	syscall(SYS_kill, syscall(SYS_getpid), signal);
}

/* Handles SHIM_MARK_SIGNAL, which nobody sends. */
static void on_mark_signal(int signal)
{
	die_by_signal(signal);
}

static void set_mark(bool on)
{
	struct sigaction now, wanted;

	memset(&wanted, 0, sizeof(wanted));
	wanted.sa_handler = on ? on_mark_signal : SIG_DFL;
	wanted.sa_flags = SA_RESTART | SA_ONSTACK;
	if (libc_sigaction(SHIM_MARK_SIGNAL, NULL, &now) == 0 &&
	    now.sa_handler == (on ? SIG_DFL : on_mark_signal))
		libc_sigaction(SHIM_MARK_SIGNAL, &wanted, NULL);
}

static void reset_to_default(void)
{
	atomic_store(&application_handler, (uintptr_t)SIG_DFL);
	memset(&application_action, 0, sizeof(application_action));
	set_mark(true);
}

static void call_application(int signal, siginfo_t *info, void *context)
{
	uintptr_t chosen = atomic_load(&application_handler);

	if (chosen == (uintptr_t)SIG_IGN)
		return;
	if (chosen == (uintptr_t)SIG_DFL) {
		die_by_signal(signal);
		return;
	}
	if ((application_action.sa_flags & (int)SA_RESETHAND) && channel_ready())
		reset_to_default();
	/* A handler of one argument ignores the other two. */
	((void (*)(int, siginfo_t *, void *))chosen)(signal, info, context);
}

static void release_signal(int signal, siginfo_t *info, void *context)
{
	siginfo_t original;

	stop_recheck_timer();
	if (atomic_exchange(&held, false)) {
		original = held_info;
		info = &original;
	}
	call_application(signal, info, context);
}

enum decision {
	DECIDE_RELEASE,
	DECIDE_HOLD,
	DECIDE_IGNORE
};

static void note_from_supervisor(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	last_from_supervisor.device = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static enum decision decide_signal(const struct shim_header *header, const siginfo_t *info,
				   int *sender)
{
	bool by_process =
		info->si_code == SI_USER || info->si_code == SI_TKILL || info->si_code == SI_QUEUE;
	bool by_timer = info->si_code == SI_TIMER && recheck_timer >= 0;

	*sender = by_process ? info->si_pid : 0;
	if (by_process && *sender == (int)header->supervisor_pid) {
		if (info->si_code == SI_QUEUE && info->si_value.sival_int == SHIM_RELEASE_VALUE &&
		    !atomic_load(&held))
			return DECIDE_IGNORE;
		note_from_supervisor();
		return DECIDE_RELEASE;
	}
	if (by_timer && !atomic_load(&held))
		return DECIDE_IGNORE;
	/* From this process itself or its parent: multiprocessing, torchrun and timeout(1) end
	 * their children so. */
	if (by_process &&
	    (*sender == (int)syscall(SYS_getpid) || *sender == (int)syscall(SYS_getppid)))
		return DECIDE_RELEASE;
	if (channel_sigterm_hold() != SHIM_HOLD_ACTIVE || !peer_is_alive(header))
		return DECIDE_RELEASE;
	return DECIDE_HOLD;
}

static void on_sigterm(int signal, siginfo_t *info, void *context)
{
	int saved = errno, sender = 0;
	enum decision decision;

	/* A child of vfork() or clone() shares its parent's memory, so it has nowhere to hold the
	 * signal. */
	if (!channel_ready()) {
		call_application(signal, info, context);
		errno = saved;
		return;
	}
	decision = decide_signal(channel_header(), info, &sender);
	if (decision == DECIDE_HOLD)
		hold_signal(info, sender);
	else if (decision == DECIDE_RELEASE)
		release_signal(signal, info, context);
	errno = saved;
}

/* --- the application's handler --- */

static bool is_our_handler(const struct sigaction *action)
{
	return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == on_sigterm;
}

static int install_action(const struct sigaction *action)
{
	struct sigaction ours = *action;
	bool standard = action->sa_handler == SIG_DFL;

	if (action->sa_handler != SIG_IGN) {
		ours.sa_sigaction = on_sigterm;
		ours.sa_flags = (action->sa_flags & ~(int)SA_RESETHAND) | SA_SIGINFO;
	}
	if (standard) {
		/* The process should behave as if it had no handler. */
		ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
		sigemptyset(&ours.sa_mask);
	}
	application_action = *action;
	atomic_store(&application_handler, (uintptr_t)action->sa_handler);
	if (libc_sigaction(SIGTERM, &ours, NULL) < 0)
		return -1;
	set_mark(standard);
	return 0;
}

static void adopt_current_action(void)
{
	struct sigaction now;

	if (libc_sigaction(SIGTERM, NULL, &now) < 0)
		return;
	if (!is_our_handler(&now))
		install_action(&now);
	else if (atomic_load(&application_handler) > (uintptr_t)SIG_IGN) /* siginterrupt() */
		application_action.sa_flags =
			(application_action.sa_flags & ~SA_RESTART) | (now.sa_flags & SA_RESTART);
}

static int set_sigterm_action(const struct sigaction *action, struct sigaction *old)
{
	struct sigaction before = application_action;

	/* A child of vfork() has its own table of handlers, but our variables are its parent's. */
	if (!channel_ready()) {
		if (action && libc_sigaction(SIGTERM, action, NULL) < 0)
			return -1;
	} else {
		struct sigaction copy;

		lock_action();
		before = application_action;
		if (action) {
			copy = *action; /* `action` may be the same memory as `old` */
			if (install_action(&copy) < 0) {
				unlock_action();
				return -1;
			}
		}
		unlock_action();
	}
	if (old)
		*old = before;
	return 0;
}

static int set_mark_action(const struct sigaction *action, struct sigaction *old)
{
	struct sigaction before;

	if (libc_sigaction(SHIM_MARK_SIGNAL, NULL, &before) < 0 ||
	    (action && libc_sigaction(SHIM_MARK_SIGNAL, action, NULL) < 0))
		return -1;
	if (before.sa_handler == on_mark_signal) {
		memset(&before, 0, sizeof(before));
		before.sa_handler = SIG_DFL;
	}
	if (atomic_load(&application_handler) == (uintptr_t)SIG_DFL)
		set_mark(true);
	if (old)
		*old = before;
	return 0;
}

int sigterm_handler_sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
	return signal == SIGTERM ? set_sigterm_action(action, old) : set_mark_action(action, old);
}

static sigterm_handler_fn *handler_before_change;

void sigterm_handler_begin_change(void)
{
	lock_action();
	handler_before_change = application_action.sa_handler;
}

sigterm_handler_fn *sigterm_handler_end_change(int signal, sigterm_handler_fn *returned)
{
	sigterm_handler_fn *before = handler_before_change;

	if (channel_ready()) {
		if (signal == SIGTERM)
			adopt_current_action();
		else if (atomic_load(&application_handler) == (uintptr_t)SIG_DFL)
			set_mark(true);
	}
	unlock_action();
	if ((uintptr_t)returned == (uintptr_t)on_sigterm)
		return before;
	return returned == on_mark_signal ? SIG_DFL : returned;
}

/* --- signals that are notices --- */

bool sigterm_handler_is_notice(int signal)
{
	return atomic_load(&notices_ignored) && signal > 0 && signal < 32 &&
	       (channel_header()->notice_signals >> (signal - 1) & 1) != 0;
}

/* Whatever was inherited: exec hands on that a signal is ignored, not by whom. */
static void ignore_notices(void)
{
	struct sigaction now, ignored;

	memset(&ignored, 0, sizeof(ignored));
	ignored.sa_handler = SIG_IGN;
	atomic_store(&notices_ignored, true);
	for (int signal = 1; signal < 32; signal++)
		if (sigterm_handler_is_notice(signal) && libc_sigaction(signal, NULL, &now) == 0 &&
		    now.sa_handler == SIG_DFL)
			libc_sigaction(signal, &ignored, NULL);
}

int sigterm_handler_set_notice(int signal, const struct sigaction *action, struct sigaction *old)
{
	struct sigaction wanted;

	if (action) {
		wanted = *action; /* `action` may be the same memory as `old` */
		if (wanted.sa_handler == SIG_DFL)
			wanted.sa_handler = SIG_IGN;
	}
	if (libc_sigaction(signal, action ? &wanted : NULL, old) < 0)
		return -1;
	if (old && old->sa_handler == SIG_IGN)
		old->sa_handler = SIG_DFL;
	return 0;
}

/* --- installing --- */

void sigterm_handler_install(void)
{
	if (channel_sigterm_hold() == SHIM_HOLD_OFF)
		return;
	/* Nobody has to be known for that, so that it holds in another PID namespace too. */
	ignore_notices();
	if (channel_pidns() != CHANNEL_PIDNS_SAME)
		return;
	lock_action();
	adopt_current_action();
	atomic_store(&sigterm_handler_installed, true);
	unlock_action();
}

void sigterm_handler_forked(void)
{
	atomic_store(&action_busy, false);
	atomic_store(&held, false);
	last_from_supervisor.device = 0;
	recheck_timer = -1; /* timers are not inherited */
}
