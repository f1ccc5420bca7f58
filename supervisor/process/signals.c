#include "process.h"
#include "process_tree.h"

#include "base/log.h"
#include "base/text.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- signal_rules --- */

static bool is_received(int signal)
{
	return signal > 0 && signal < SIGNAL_RULES_COUNT && signal != SIGKILL &&
	       signal != SIGSTOP && signal != SIGCHLD;
}

static int add_one_rewrite(struct signal_rules *signal_rules, char *from, struct err *err)
{
	char *to = strchr(from, '=');
	int left, right;

	if (!to)
		return err_set(err, ERR_INVALID,
			       "invalid rewrite '%s': use FROM=TO, such as INT=TERM or HUP=none",
			       from);
	*to++ = '\0';
	left = signal_name_parse(from);
	right = text_equal(to, "none") || text_equal(to, "0") ? SIGNAL_RULES_DROPPED
							      : signal_name_parse(to);
	if (left <= 0 || right <= 0)
		return err_set(err, ERR_INVALID,
			       "invalid signal '%s': use FROM=TO, such as INT=TERM",
			       left <= 0 ? from : to);
	if (!is_received(left))
		return err_set(err, ERR_INVALID,
			       "SIG%s cannot be received here: use another signal before the '='",
			       left == SIGKILL   ? "KILL"
			       : left == SIGSTOP ? "STOP"
						 : "CHLD");
	signal_rules->counts_as[left] = (uint8_t)right;
	return 0;
}

int signal_rules_add_rewrite(struct signal_rules *signal_rules, const char *text, struct err *err)
{
	auto_free char *rewrites = text_copy(text);
	char *rest = rewrites, *word;

	while ((word = strsep(&rest, ",")))
		if (add_one_rewrite(signal_rules, word, err) < 0)
			return -1;
	return 0;
}

int signal_rules_set_parent_death(struct signal_rules *signal_rules, const char *text,
				  struct err *err)
{
	int signal = text_equal(text, "none") ? 0 : signal_name_parse(text);

	if (signal < 0 || (signal == 0 && !text_equal(text, "none")))
		return err_set(err, ERR_INVALID,
			       "invalid signal '%s': use TERM, KILL, ..., or none", text);
	signal_rules->parent_death = (uint8_t)signal;
	signal_rules->parent_death_chosen = true;
	return 0;
}

int signal_rules_add_success(struct signal_rules *signal_rules, const char *text, struct err *err)
{
	auto_free char *codes = text_copy(text);
	char *rest = codes, *word;
	uint64_t code;

	while ((word = strsep(&rest, ","))) {
		if (!text_to_u64(word, 255, &code))
			return err_set(err, ERR_INVALID,
				       "invalid exit code '%s': use 0 to 255, such as 143 or "
				       "130,143",
				       word);
		signal_rules->success[code / 64] |= UINT64_C(1) << code % 64;
	}
	return 0;
}

int signal_rules_map(const struct signal_rules *signal_rules, int signal)
{
	int as = signal > 0 && signal < SIGNAL_RULES_COUNT ? signal_rules->counts_as[signal] : 0;

	if (as == SIGNAL_RULES_DROPPED)
		return 0;
	return as ? as : signal;
}

int signal_rules_map_wait_status(const struct signal_rules *signal_rules, int wait_status)
{
	int code = wait_status_exit_code(wait_status);

	return signal_rules->success[code / 64] >> code % 64 & 1 ? 0 : wait_status;
}

/* --- signals by name --- */

/* glibc prints the other name of the number. */
static const struct {
	const char *name;
	int number;
} aliases[] = {{"IO", SIGIO}, {"IOT", SIGABRT}, {"CLD", SIGCHLD}};

/* "RTMIN+3" with base "RTMIN" and sign '+'. */
static bool parse_real_time(const char *text, const char *base, char sign, uint64_t *offset)
{
	size_t length = strlen(base);

	if (strncasecmp(text, base, length) != 0)
		return false;
	*offset = 0;
	return text[length] == '\0' ||
	       (text[length] == sign &&
		text_to_u64(text + length + 1, (uint64_t)(SIGRTMAX - SIGRTMIN), offset));
}

static bool is_usable(int number)
{
	return (number >= 1 && number < 32) || (number >= SIGRTMIN && number <= SIGRTMAX);
}

int signal_name_parse(const char *text)
{
	uint64_t value;

	if (text_to_u64(text, (uint64_t)SIGRTMAX, &value))
		return is_usable((int)value) ? (int)value : 0;
	if (strncasecmp(text, "SIG", 3) == 0)
		text += 3;
	for (int number = 1; number < 32; number++)
		if (strcasecmp(text, sigabbrev_np(number)) == 0)
			return number;
	for (size_t i = 0; i < sizeof(aliases) / sizeof(*aliases); i++)
		if (strcasecmp(text, aliases[i].name) == 0)
			return aliases[i].number;
	if (parse_real_time(text, "RTMIN", '+', &value))
		return SIGRTMIN + (int)value;
	if (parse_real_time(text, "RTMAX", '-', &value))
		return SIGRTMAX - (int)value;
	return 0;
}

const char *signal_name_format(int number, char *buffer)
{
	if (number >= 1 && number < 32)
		snprintf(buffer, SIGNAL_NAME_SIZE, "SIG%s", sigabbrev_np(number));
	else if (number == SIGRTMIN || number == SIGRTMAX)
		snprintf(buffer, SIGNAL_NAME_SIZE, "SIGRT%s", number == SIGRTMIN ? "MIN" : "MAX");
	else if (number > SIGRTMIN && number < SIGRTMAX)
		snprintf(buffer, SIGNAL_NAME_SIZE, "SIGRTMIN+%d", number - SIGRTMIN);
	else
		snprintf(buffer, SIGNAL_NAME_SIZE, "signal %d", number);
	return buffer;
}

int wait_status_exit_code(int wait_status)
{
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

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

static sigset_t set_of(int signal, int other)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signal);
	sigaddset(&set, other);
	return set;
}

/* Consumes the SIGCONT that ended our own stop, so that it is not forwarded. */
static void discard_sigcont(void)
{
	const struct timespec at_once = {0};
	const sigset_t resume = set_of(SIGCONT, SIGCONT);

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
	const sigset_t stop = set_of(SIGTTOU, SIGCONT);
	int result;

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
	stop = set_of(signal, signal);
	sigaction(signal, &standard, NULL);
	kill(group ? 0 : getpid(), signal);
	/* All threads block it, so that it takes effect inside this call. */
	pthread_sigmask(SIG_UNBLOCK, &stop, NULL);
	pthread_sigmask(SIG_BLOCK, &stop, NULL);
	discard_sigcont();
}

/* --- exit_watch --- */

/* struct pidfd_info of linux/pidfd.h 6.15, which older headers do not have; its later members are
 * not needed. */
struct exit_info {
	uint64_t mask;
	uint64_t cgroup;
	uint32_t numbers[11];
	int32_t exit_code;
};
#define EXIT_INFO_MASK_EXIT (UINT64_C(1) << 3)
#define EXIT_INFO_IOCTL _IOWR(0xFF, 11, struct exit_info)

struct watched_process {
	struct source source;
	struct exit_watch *watch;
	struct watched_process *next;
	pid_t pid;
};

struct exit_watch {
	struct loop *loop;
	exit_watch_fn *ended;
	void *arg;
	struct watched_process *all;
	size_t count;
};

struct exit_watch *exit_watch_new(struct loop *loop, exit_watch_fn *ended, void *arg)
{
	struct exit_watch *watch = memory_new(sizeof(*watch));

	*watch = (struct exit_watch){.loop = loop, .ended = ended, .arg = arg};
	return watch;
}

static void drop_process(struct exit_watch *watch, struct watched_process *watched)
{
	struct watched_process **link = &watch->all;

	while (*link != watched)
		link = &(*link)->next;
	*link = watched->next;
	watch->count--;
	loop_remove(watch->loop, &watched->source);
	close(watched->source.fd);
	free(watched);
}

void exit_watch_free(struct exit_watch *watch)
{
	if (!watch)
		return;
	while (watch->all)
		drop_process(watch, watch->all);
	free(watch);
}

/* From Linux 6.15 on the kernel keeps the exit status after the process was reaped. */
static bool read_pidfd_status(int pidfd, int *status)
{
	struct exit_info info = {.mask = EXIT_INFO_MASK_EXIT};

	if (ioctl(pidfd, EXIT_INFO_IOCTL, &info) < 0 || !(info.mask & EXIT_INFO_MASK_EXIT))
		return false;
	*status = info.exit_code;
	return true;
}

/* The exit status of a zombie in /proc/PID/stat, which the kernel hides from other users. */
static bool read_zombie(pid_t pid, int *status)
{
	struct proc_stat stat;

	if (!proc_read_stat(pid, &stat) || stat.owner != geteuid() || stat.state != 'Z')
		return false;
	*status = stat.exit_status;
	return true;
}

/* Our own children are reported by the code that reaps them. */
static bool is_own_child(pid_t pid)
{
	siginfo_t info = {0};

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT | WNOHANG) == 0 &&
	       info.si_pid == pid;
}

static void pidfd_became_readable(struct source *source, uint32_t events)
{
	struct watched_process *watched = container_of(source, struct watched_process, source);
	struct exit_watch *watch = watched->watch;
	pid_t pid = watched->pid;
	int status = -1;

	(void)events;
	if (is_own_child(pid)) {
		drop_process(watch, watched);
		return;
	}
	if (!read_pidfd_status(source->fd, &status) && !read_zombie(pid, &status) &&
	    !read_pidfd_status(source->fd, &status)) /* reaped between the two calls */
		status = -1;
	drop_process(watch, watched);
	watch->ended(watch->arg, pid, status);
}

bool exit_watch_add(struct exit_watch *watch, pid_t pid)
{
	struct watched_process *watched;
	int fd;

	for (watched = watch->all; watched; watched = watched->next)
		if (watched->pid == pid)
			return true;
	if (watch->count == EXIT_WATCH_MOST)
		return false;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return false;
	watched = memory_new(sizeof(*watched));
	*watched = (struct watched_process){
		.source = {.fd = fd, .ready = pidfd_became_readable},
		.watch = watch,
		.next = watch->all,
		.pid = pid,
	};
	if (loop_add(watch->loop, &watched->source, EPOLLIN, NULL) < 0) {
		close(fd);
		free(watched);
		return false;
	}
	watch->all = watched;
	watch->count++;
	return true;
}
