#include "process.h"

#include "base/status_line.h"

#include <errno.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>

/* Not blocked, because a fault must end us where it happens. SIGABRT is blocked: abort()
 * unblocks it by itself, and one that a user sends asks the job for its stacks. */
static const int synchronous[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

static void fill_blocked(sigset_t *blocked)
{
	sigfillset(blocked); /* glibc leaves out 32 and 33, which its threads need */
	for (size_t i = 0; i < sizeof(synchronous) / sizeof(synchronous[0]); i++)
		sigdelset(blocked, synchronous[i]);
}

void signals_block(struct signals_inherited *inherited)
{
	const struct sigaction standard = {.sa_handler = SIG_DFL};
	sigset_t blocked;

	fill_blocked(&blocked);
	pthread_sigmask(SIG_SETMASK, &blocked, &inherited->mask);
	sigemptyset(&inherited->ignored);
	for (int number = 1; number <= SIGRTMAX; number++) {
		struct sigaction action;

		if (sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
			sigaddset(&inherited->ignored, number);
	}
	sigaction(SIGCHLD, &standard, NULL);
}

void signals_restore(const struct signals_inherited *inherited)
{
	for (int number = 1; number <= SIGRTMAX; number++) {
		bool ignored = sigismember(&inherited->ignored, number) == 1;
		struct sigaction action = {.sa_handler = ignored ? SIG_IGN : SIG_DFL};

		sigaction(number, &action, NULL); /* fails for those that nobody may change */
	}
	/* Last. Signals that are pending in the parent are not pending in the child (fork(2)). */
	sigprocmask(SIG_SETMASK, &inherited->mask, NULL);
}

/* Was it caused by our own write, to a closed pipe or beyond the file size limit? The write has
 * failed and was handled there. */
static bool is_of_own_write(const struct signalfd_siginfo *info)
{
	return (info->ssi_signo == SIGPIPE || info->ssi_signo == SIGXFSZ) &&
	       info->ssi_pid == (uint32_t)getpid();
}

static void signalfd_became_readable(struct source *source, uint32_t events)
{
	struct signals *signals = container_of(source, struct signals, source);
	struct signalfd_siginfo info;
	ssize_t got;

	(void)events;
	/* One signal at a time: `received` may close us, and the descriptor stays readable while
	 * signals are left. */
	do
		got = read(source->fd, &info, sizeof(info));
	while (got < 0 && errno == EINTR);
	if (got != sizeof(info))
		return;
	if (is_of_own_write(&info))
		return;
	signals->received(signals->arg, &info);
}

int signals_open(struct signals *signals, struct loop *loop,
		 void (*received)(void *arg, const struct signalfd_siginfo *info), void *arg,
		 struct err *err)
{
	sigset_t blocked;

	fill_blocked(&blocked);
	*signals = (struct signals){.received = received, .arg = arg};
	signals->source.ready = signalfd_became_readable;
	signals->source.fd = signalfd(-1, &blocked, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals->source.fd < 0)
		return err_os(err, errno, "signalfd");
	if (loop_add(loop, &signals->source, EPOLLIN, err) < 0) {
		close(signals->source.fd);
		signals->source.fd = -1;
		return err_wrap(err, "signals");
	}
	return 0;
}

void signals_close(struct signals *signals, struct loop *loop)
{
	if (signals->source.fd < 0)
		return;
	loop_remove(loop, &signals->source);
	close(signals->source.fd);
	signals->source.fd = -1;
}

/* Consumes the SIGCONT that ended our own stop, so that it is not forwarded. */
static void discard_sigcont(void)
{
	const struct timespec at_once = {0};
	sigset_t resume;

	sigemptyset(&resume);
	sigaddset(&resume, SIGCONT);
	sigtimedwait(&resume, NULL, &at_once);
}

bool signals_termination_pending(void)
{
	sigset_t waiting;

	sigemptyset(&waiting);
	sigpending(&waiting);
	return sigismember(&waiting, SIGHUP) == 1 || sigismember(&waiting, SIGINT) == 1 ||
	       sigismember(&waiting, SIGQUIT) == 1 || sigismember(&waiting, SIGTERM) == 1;
}

static void handle_sigcont(int signal)
{
	(void)signal;
}

bool signals_take_foreground(pid_t group)
{
	const struct sigaction standard = {.sa_handler = SIG_DFL};
	/* A handler without SA_RESTART: otherwise the kernel would restart the call and stop us
	 * again with a SIGTERM unread. */
	const struct sigaction interrupting = {.sa_handler = handle_sigcont};
	sigset_t stop;
	int result;

	sigemptyset(&stop);
	sigaddset(&stop, SIGTTOU);
	sigaddset(&stop, SIGCONT);
	sigaction(SIGTTOU, &standard, NULL);
	sigaction(SIGCONT, &interrupting, NULL);
	pthread_sigmask(SIG_UNBLOCK, &stop, NULL);
	do
		result = tcsetpgrp(STDIN_FILENO, group);
	while (result < 0 && errno == EINTR && !signals_termination_pending());
	pthread_sigmask(SIG_BLOCK, &stop, NULL);
	sigaction(SIGCONT, &standard, NULL);
	discard_sigcont();
	return result == 0;
}

void signals_stop_self(int signal, bool group)
{
	const struct sigaction standard = {.sa_handler = SIG_DFL};
	sigset_t stop;

	if (signal == SIGSTOP)
		signal = SIGTSTP;
	status_line_clear();
	sigemptyset(&stop);
	sigaddset(&stop, signal);
	sigaction(signal, &standard, NULL);
	kill(group ? 0 : getpid(), signal);
	/* All threads block it, so that it takes effect inside this call. */
	pthread_sigmask(SIG_UNBLOCK, &stop, NULL);
	pthread_sigmask(SIG_BLOCK, &stop, NULL);
	discard_sigcont();
}
