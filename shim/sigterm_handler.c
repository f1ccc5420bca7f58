#include "sigterm_handler.h"

#include "libc_symbols.h"
#include "channel_writer.h"
#include "peer.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LOOK_AGAIN_S 1
#define SPINS 1000

atomic_bool shield_is_here;

/* What the application has set for SIGTERM. `handler` is what on_term() reads; the rest is for those who ask. */
static _Atomic uintptr_t handler;
static struct sigaction told;
static atomic_bool busy; /* somebody changes both */

static atomic_bool kept; /* a SIGTERM waits */
static siginfo_t kept_info;
static int kept_sender;     /* 0: unknown */
static int look_again = -1; /* a timer of the kernel's */

/* When the supervisor's last one came: in `device`, because a record has room for that. */
static struct place had;

static int next_sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
	__typeof__(&sigaction) next = REAL(sigaction);

	if (next)
		return next(signal, action, old);
	errno = ENOSYS;
	return -1;
}

/* Waits for another thread, but not for ever: the one that is at it may be this one, interrupted. Then one of two changes wins, as
 * it would without us. */
static void begin(void)
{
	for (int spin = 0; spin < SPINS && atomic_exchange(&busy, true); spin++) {
	}
}

static void end(void)
{
	atomic_store(&busy, false);
}

/* --- a SIGTERM --- */

static void stop_looking(void)
{
	if (look_again >= 0)
		syscall(SYS_timer_delete, look_again);
	look_again = -1;
}

/* Once a second: the supervisor may die, or have lost our report; and of two SIGTERM that are pending at a time the kernel keeps one, so that
 * the one by which it hands ours on may be lost. */
static void begin_looking(void)
{
	struct sigevent event;
	struct timespec each[2] = {{.tv_sec = LOOK_AGAIN_S}, {.tv_sec = LOOK_AGAIN_S}};
	int timer;

	memset(&event, 0, sizeof(event));
	event.sigev_notify = SIGEV_SIGNAL;
	event.sigev_signo = SIGTERM;
	if (look_again >= 0 || syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer) < 0)
		return;
	look_again = timer;
	syscall(SYS_timer_settime, timer, 0, each, NULL);
}

static void keep(const siginfo_t *info, int sender)
{
	if (!atomic_exchange(&kept, true)) {
		kept_info = *info;
		kept_sender = sender;
		begin_looking();
	}
	report_send(SHIM_HELD, kept_sender, 0, &had, NULL);
}

/* As it would without a handler. */
static void die_of(int signal)
{
	struct sigaction standard;
	uint64_t mask = UINT64_C(1) << (signal - 1);

	memset(&standard, 0, sizeof(standard));
	standard.sa_handler = SIG_DFL;
	next_sigaction(signal, &standard, NULL);
	syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &mask, NULL, sizeof(mask));
	syscall(SYS_kill, syscall(SYS_getpid), signal);
}

/* Of SHIM_MARK_SIGNAL, which nobody sends. */
static void on_mark(int signal)
{
	die_of(signal);
}

static void mark(bool on)
{
	struct sigaction now, wanted;

	memset(&wanted, 0, sizeof(wanted));
	wanted.sa_handler = on ? on_mark : SIG_DFL;
	wanted.sa_flags = SA_RESTART | SA_ONSTACK;
	if (next_sigaction(SHIM_MARK_SIGNAL, NULL, &now) == 0 &&
		now.sa_handler == (on ? SIG_DFL : on_mark))
		next_sigaction(SHIM_MARK_SIGNAL, &wanted, NULL);
}

static void forget_handler(void)
{
	atomic_store(&handler, (uintptr_t)SIG_DFL);
	memset(&told, 0, sizeof(told));
	mark(true);
}

static void act(int signal, siginfo_t *info, void *context)
{
	uintptr_t chosen = atomic_load(&handler);

	if (chosen == (uintptr_t)SIG_IGN)
		return;
	if (chosen == (uintptr_t)SIG_DFL) {
		die_of(signal);
		return;
	}
	if ((told.sa_flags & (int)SA_RESETHAND) && report_ready())
		forget_handler();
	/* Handlers of one argument do not mind the other two. */
	((void (*)(int, siginfo_t *, void *))chosen)(signal, info, context);
}

static void hand_out(int signal, siginfo_t *info, void *context)
{
	siginfo_t original;

	stop_looking();
	if (atomic_exchange(&kept, false)) {
		original = kept_info;
		info = &original;
	}
	act(signal, info, context);
}

enum answer {
	HAND_OUT,
	KEEP,
	LEAVE
};

static void note_had(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	had.device = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static enum answer answer_to(const struct shim_header *header, const siginfo_t *info, int *sender)
{
	bool by_process =
		info->si_code == SI_USER || info->si_code == SI_TKILL || info->si_code == SI_QUEUE;
	bool by_timer = info->si_code == SI_TIMER && look_again >= 0;

	*sender = by_process ? info->si_pid : 0;
	if (by_process && *sender == (int)header->supervisor_pid) {
		if (info->si_code == SI_QUEUE && info->si_value.sival_int == SHIM_TAKE_IT &&
			!atomic_load(&kept))
			return LEAVE;
		note_had();
		return HAND_OUT;
	}
	if (by_timer && !atomic_load(&kept))
		return LEAVE;
	/* One's own doing, or the parent's: multiprocessing, torchrun and timeout(1) end their children so. */
	if (by_process &&
		(*sender == (int)syscall(SYS_getpid) || *sender == (int)syscall(SYS_getppid)))
		return HAND_OUT;
	if (__atomic_load_n(&header->shield, __ATOMIC_ACQUIRE) != SHIM_SHIELD_STANDING ||
		!supervisor_lives(header))
		return HAND_OUT;
	return KEEP;
}

static void on_term(int signal, siginfo_t *info, void *context)
{
	int saved = errno, sender = 0;
	enum answer answer;

	/* A child of vfork() or clone() has no memory of its own to keep it in. */
	if (!report_ready()) {
		act(signal, info, context);
		errno = saved;
		return;
	}
	answer = answer_to(report_header(), info, &sender);
	if (answer == KEEP)
		keep(info, sender);
	else if (answer == HAND_OUT)
		hand_out(signal, info, context);
	errno = saved;
}

/* --- what the application sets --- */

static bool is_ours(const struct sigaction *action)
{
	return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == on_term;
}

static int put(const struct sigaction *action)
{
	struct sigaction ours = *action;
	bool standard = action->sa_handler == SIG_DFL;

	if (action->sa_handler != SIG_IGN) {
		ours.sa_sigaction = on_term;
		ours.sa_flags = (action->sa_flags & ~(int)SA_RESETHAND) | SA_SIGINFO;
	}
	if (standard) {
		/* As little of it as can be is to be seen in what the process does. */
		ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
		sigemptyset(&ours.sa_mask);
	}
	told = *action;
	atomic_store(&handler, (uintptr_t)action->sa_handler);
	if (next_sigaction(SIGTERM, &ours, NULL) < 0)
		return -1;
	mark(standard);
	return 0;
}

static void adopt(void)
{
	struct sigaction now;

	if (next_sigaction(SIGTERM, NULL, &now) < 0)
		return;
	if (!is_ours(&now))
		put(&now);
	else if (atomic_load(&handler) > (uintptr_t)SIG_IGN) /* siginterrupt() */
		told.sa_flags = (told.sa_flags & ~SA_RESTART) | (now.sa_flags & SA_RESTART);
}

static int term_action(const struct sigaction *action, struct sigaction *old)
{
	struct sigaction before = told;

	/* A child of vfork() has a table of handlers of its own, but our memory is its parent's. */
	if (!report_ready()) {
		if (action && next_sigaction(SIGTERM, action, NULL) < 0)
			return -1;
	} else {
		struct sigaction copy;

		begin();
		before = told;
		if (action) {
			copy = *action; /* may be the same memory as `old` */
			if (put(&copy) < 0) {
				end();
				return -1;
			}
		}
		end();
	}
	if (old)
		*old = before;
	return 0;
}

static int mark_action(const struct sigaction *action, struct sigaction *old)
{
	struct sigaction before;

	if (next_sigaction(SHIM_MARK_SIGNAL, NULL, &before) < 0 ||
		(action && next_sigaction(SHIM_MARK_SIGNAL, action, NULL) < 0))
		return -1;
	if (before.sa_handler == on_mark) {
		memset(&before, 0, sizeof(before));
		before.sa_handler = SIG_DFL;
	}
	if (atomic_load(&handler) == (uintptr_t)SIG_DFL)
		mark(true);
	if (old)
		*old = before;
	return 0;
}

int shield_sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
	return signal == SIGTERM ? term_action(action, old) : mark_action(action, old);
}

static shield_handler_fn *before_begin;

void shield_begin(void)
{
	begin();
	before_begin = told.sa_handler;
}

shield_handler_fn *shield_end(int signal, shield_handler_fn *returned)
{
	shield_handler_fn *before = before_begin;

	if (report_ready()) {
		if (signal == SIGTERM)
			adopt();
		else if (atomic_load(&handler) == (uintptr_t)SIG_DFL)
			mark(true);
	}
	end();
	if ((uintptr_t)returned == (uintptr_t)on_term)
		return before;
	return returned == on_mark ? SIG_DFL : returned;
}

/* --- life --- */

void shield_install(void)
{
	const struct shim_header *header = report_header();

	if (__atomic_load_n(&header->shield, __ATOMIC_ACQUIRE) == SHIM_SHIELD_OFF ||
		!supervisor_is_known(header))
		return;
	begin();
	adopt();
	atomic_store(&shield_is_here, true);
	end();
}

void shield_forked(void)
{
	atomic_store(&busy, false);
	atomic_store(&kept, false);
	had.device = 0;
	look_again = -1; /* timers are not inherited */
}
