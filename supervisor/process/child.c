#include "process.h"

#include "base/file.h"
#include "base/text.h"
#include "process_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

extern char **environ;

static struct rlimit original_descriptors;
static bool descriptors_raised;
static bool prepared;

/* Which descriptors we were started with. */
#define DESCRIPTORS_MOST 1024
static bool is_inherited[DESCRIPTORS_MOST];
static bool inherited_known; /* false: one is higher, or /proc cannot be read */

void child_fill_standard_descriptors(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			(void)!open("/dev/null", O_RDWR | O_CLOEXEC); /* the lowest free one: fd */
}

static void raise_descriptor_limit(void)
{
	struct rlimit raised;

	if (descriptors_raised || getrlimit(RLIMIT_NOFILE, &original_descriptors) < 0)
		return;
	raised = original_descriptors;
	raised.rlim_cur = raised.rlim_max;
	descriptors_raised = setrlimit(RLIMIT_NOFILE, &raised) == 0;
}

/* The job is to have them too. */
static void note_inherited_descriptors(void)
{
	auto_(walk_close) struct walk walk = {0};

	inherited_known = proc_walk_descriptors(PROC_SELF, &walk) == 0;
	while (walk_next(&walk)) {
		int fd = (int)strtol(walk.name, NULL, 10);

		if (fd < DESCRIPTORS_MOST)
			is_inherited[fd] = fd != walk.directory;
		else
			inherited_known = false;
	}
}

/* The job must not inherit descriptors that libraries have opened here without close-on-exec, such
 * as libcurl's wake-up sockets. Works from Linux 5.11 on; async-signal-safe. */
static void hide_own_descriptors(void)
{
	for (unsigned fd = STDERR_FILENO + 1; inherited_known && fd < DESCRIPTORS_MOST; fd++) {
		unsigned first = fd;

		while (fd < DESCRIPTORS_MOST && !is_inherited[fd])
			fd++;
		if (fd > first)
			(void)syscall(SYS_close_range, first, fd < DESCRIPTORS_MOST ? fd - 1 : ~0u,
				      CLOSE_RANGE_CLOEXEC);
	}
}

int child_prepare(struct err *err)
{
	if (!prepared)
		note_inherited_descriptors();
	prepared = true;
	child_fill_standard_descriptors();
	raise_descriptor_limit();
	if (getpid() != 1 && prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return err_os(err, errno, "orphans of the job will not come to us: subreaper");
	return 0;
}

static bool names_variable(const char *variable, const char *name, size_t length)
{
	return strncmp(variable, name, length) == 0 && variable[length] == '=';
}

static bool is_listed(const char *variable, const char *const *set, const char *const *unset)
{
	for (; unset && *unset; unset++)
		if (names_variable(variable, *unset, strlen(*unset)))
			return true;
	for (; set && *set; set++)
		if (names_variable(variable, *set, strcspn(*set, "=")))
			return true;
	return false;
}

static size_t count_texts(const char *const *texts)
{
	size_t count = 0;

	while (texts && texts[count])
		count++;
	return count;
}

char **child_variables(const char *const *set, const char *const *unset)
{
	size_t most = count_texts((const char *const *)environ) + count_texts(set) + 1;
	char **variables = memory_grow(NULL, most, sizeof(*variables));
	size_t count = 0;

	for (char **variable = environ; *variable; variable++)
		if (!is_listed(*variable, set, unset))
			variables[count++] = *variable;
	for (; set && *set; set++)
		variables[count++] = (char *)*set;
	variables[count] = NULL;
	return variables;
}

static enum child_terminal choose_terminal(void)
{
	struct stat output;

	if (tcgetpgrp(STDIN_FILENO) < 0)
		return CHILD_TERMINAL_NONE;
	if (fstat(STDOUT_FILENO, &output) == 0 && S_ISFIFO(output.st_mode))
		return CHILD_TERMINAL_SHARED;
	return CHILD_TERMINAL_OWN;
}

/* SIGTTOU is blocked in us, and in the child until its mask is restored, so that this works from a
 * background process too. */
static void pass_terminal(enum child_terminal terminal, pid_t from, pid_t to)
{
	/* If another group is in the foreground, we are a background job of some shell: leave
	 * it. */
	if (terminal == CHILD_TERMINAL_OWN && tcgetpgrp(STDIN_FILENO) == from)
		(void)tcsetpgrp(STDIN_FILENO, to);
}

/* Between fork and exec: async-signal-safe calls only. */
static _Noreturn void exec_child(const struct child_options *options, const struct child *child,
				 char **variables, int report_fd)
{
	int reason;

	if (child->terminal != CHILD_TERMINAL_SHARED)
		setpgid(0, 0);
	pass_terminal(child->terminal, child->our_group, getpid());
	if (descriptors_raised)
		setrlimit(RLIMIT_NOFILE, &original_descriptors);
	hide_own_descriptors();
	signals_restore(options->inherited);
	execvpe(options->argv[0], options->argv, variables);
	reason = errno;
	(void)!write(report_fd, &reason, sizeof(reason));
	_exit(127);
}

const char *child_missing_word(const char *command)
{
	if (text_matches(command, "^[A-Za-z0-9_]+="))
		return "env";
	if (access(command, F_OK) < 0)
		return NULL;
	return text_ends(command, ".py") ? "python3" : text_ends(command, ".sh") ? "sh" : NULL;
}

/* Fills `err`, and returns the exit code of a shell. */
static int describe_exec_failure(const char *command, int reason, struct err *err)
{
	bool missing = reason == ENOENT || reason == ENOTDIR;
	const char *word = child_missing_word(command);

	if (!*command)
		err_set(err, ERR_NOT_FOUND, "the command is empty: name a program");
	else if (word && !(missing && strchr(command, '/')) && !file_is_directory(command))
		err_set(err, ERR_NOT_FOUND,
			"cannot run %s: it is no program: is `reprieve run -- %s %s ...` meant?",
			command, word, command);
	/* A whole line in quotes is one word. */
	else if (missing && strchr(command, ' ') && access(command, F_OK) < 0)
		err_set(err, ERR_NOT_FOUND,
			"cannot run '%s': there is no command of that name: write it without the "
			"quotes, or behind `sh -c`",
			command);
	else if (missing && !strchr(command, '/'))
		err_set(err, ERR_NOT_FOUND, "cannot run %s: no such command in PATH", command);
	else if (missing && access(command, F_OK) == 0)
		err_set(err, ERR_NOT_FOUND,
			"cannot run %s: the interpreter that it names does not exist", command);
	else if (file_is_directory(command))
		err_set(err, ERR_DENIED, "cannot run %s: it is a directory: name the program in it",
			command);
	else
		err_os(err, reason, "cannot run %s", command);
	return missing ? 127 : 126;
}

static int report_exec_failure(struct child *child, const char *command, int reason,
			       struct err *err)
{
	while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	pass_terminal(child->terminal, child->group, child->our_group);
	child->exit_code = describe_exec_failure(command, reason, err);
	return -1;
}

/* 0: it is a file that this user may run; else the errno of an exec. */
static int look_at_program(const char *path)
{
	struct stat status;

	if (stat(path, &status) < 0)
		return errno;
	if (!S_ISREG(status.st_mode) || faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0)
		return EACCES;
	return 0;
}

/* As execvp(3) goes through PATH: what may not be run is passed over, and remembered. */
static int look_in_path(const char *command)
{
	auto_free char *path = text_copy(getenv("PATH") ? getenv("PATH") : "/bin:/usr/bin");
	char *rest = path, *directory;
	int reason = ENOENT;

	while ((directory = strsep(&rest, ":"))) {
		auto_free char *file =
			text_format("%s%s%s", directory, *directory ? "/" : "", command);
		int found = look_at_program(file);

		if (found == 0)
			return 0;
		if (found != ENOENT && found != ENOTDIR)
			reason = found;
	}
	return reason;
}

int child_check_command(const char *command, struct err *err)
{
	int reason = !*command              ? ENOENT
		     : strchr(command, '/') ? look_at_program(command)
					    : look_in_path(command);

	return reason ? describe_exec_failure(command, reason, err) : 0;
}

/* errno of the exec, or 0 when it worked: then the pipe just closes. */
static int read_report(int fd)
{
	int reason = 0;
	ssize_t got;

	do
		got = read(fd, &reason, sizeof(reason));
	while (got < 0 && errno == EINTR);
	return got == sizeof(reason) ? reason : 0;
}

int child_spawn(const struct child_options *options, struct child *child, struct err *err)
{
	auto_free char **variables = child_variables(options->set, options->unset);
	int ends[2];

	*child = (struct child){
		.exit_code = 70,
		.our_group = getpgrp(),
		.to_group = options->to_group,
	};
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_os(err, errno, "pipe");
	auto_close int reading = ends[0];
	auto_close int writing = ends[1];
	child->terminal = choose_terminal();
	child->pid = fork();
	if (child->pid < 0)
		return err_os(err, errno, "cannot start a process");
	if (child->pid == 0)
		exec_child(options, child, variables, writing);
	close(steal_fd(&writing));
	child->group = child->terminal == CHILD_TERMINAL_SHARED ? child->our_group : child->pid;
	/* Parent and child both do this, because either may run first. Here it fails harmlessly
	 * once the child has done its exec. */
	if (child->terminal != CHILD_TERMINAL_SHARED)
		setpgid(child->pid, child->pid);
	int reason = read_report(reading);
	if (reason != 0)
		return report_exec_failure(child, options->argv[0], reason, err);
	child->running = true;
	return 0;
}

void child_adopt(struct child *child, pid_t pid)
{
	child->pid = pid;
	child->group = getpgid(pid);
	/* The terminal was given back when the main process ended. */
	child->terminal =
		child->group == child->our_group ? CHILD_TERMINAL_SHARED : CHILD_TERMINAL_NONE;
	child->running = true;
	child->stopped = child->unseen = false;
}

/* As a shell does it, which then sends a SIGCONT as well, once. */
static bool asks_to_end(int signal)
{
	return signal == SIGTERM || signal == SIGHUP || signal == SIGINT || signal == SIGQUIT;
}

/* A stopped one gets it only when it continues. `to`: as of kill(2). */
static void send_signal(struct child *child, pid_t to, int signal)
{
	kill(to, signal);
	if (!asks_to_end(signal))
		return;
	child->unseen = true;
	child_resume(child);
}

void child_signal(struct child *child, int signal)
{
	/* The kernel does not reuse its PID before we have reaped it. */
	if (child->running)
		send_signal(child, child->pid, signal);
}

/* Not in a pipeline: its group contains other programs and us. */
static bool forwards_to_group(const struct child *child)
{
	return child->to_group && child->terminal != CHILD_TERMINAL_SHARED;
}

bool child_forwards_to(const struct child *child, pid_t pid)
{
	return pid == child->pid || (forwards_to_group(child) && getpgid(pid) == child->group);
}

void child_forward_signal(struct child *child, int signal)
{
	if (child->running && forwards_to_group(child))
		send_signal(child, -child->group, signal);
	else
		child_signal(child, signal);
}

static void continue_group(struct child *child)
{
	pass_terminal(child->terminal, child->our_group, child->group);
	if (child->terminal == CHILD_TERMINAL_SHARED)
		child_signal(child, SIGCONT);
	else if (child->running)
		kill(-child->group, SIGCONT);
}

void child_resume(struct child *child)
{
	if (child->stopped)
		continue_group(child);
	child->stopped = false;
}

void child_forward(struct child *child, const struct signalfd_siginfo *info)
{
	int signal = (int)info->ssi_signo;

	if (!child->running || signal == SIGCHLD)
		return;
	if (child->terminal == CHILD_TERMINAL_SHARED && info->ssi_code == SI_KERNEL)
		return;
	if (signal == SIGCONT && child->terminal != CHILD_TERMINAL_NONE)
		continue_group(child);
	else if (info->ssi_code == SI_QUEUE && !child->to_group) {
		child->unseen |= asks_to_end(signal);
		sigqueue(child->pid, signal,
			 (union sigval){.sival_ptr = (void *)(uintptr_t)info->ssi_ptr});
	} else
		child_forward_signal(child, signal);
}

static bool another_has_terminal(const struct child *child)
{
	pid_t foreground = tcgetpgrp(STDIN_FILENO);

	return foreground >= 0 && foreground != child->our_group;
}

/* Stops us with the child, as sudo does: our shell sees a stopped job only if our whole group
 * stops. */
static void stop_with_child(struct child *child, int signal)
{
	bool for_terminal = signal == SIGTTIN || signal == SIGTTOU;

	if (child->terminal == CHILD_TERMINAL_NONE)
		return;
	/* It was continued to see the signal, and has read the terminal once more before that was
	 * sent. The shell continues us no second time. */
	if (for_terminal && child->unseen) {
		child->unseen = false;
		continue_group(child);
		return;
	}
	/* The time of a notice runs out meanwhile: do not wait for the terminal with it. */
	if (for_terminal && child->ending && another_has_terminal(child)) {
		child->stopped = true;
		return;
	}
	/* The child stopped because it needs the terminal: it gets it as soon as we have it. */
	if (for_terminal && child->terminal == CHILD_TERMINAL_OWN &&
	    signals_take_foreground(child->group)) {
		kill(-child->group, SIGCONT);
		return;
	}
	/* Do not stop: a queued signal asks us to end, and the shell sends it only once. */
	child->stopped = signals_termination_pending();
	if (child->stopped)
		return;
	/* The terminal has hung up and no shell is left: a child that waits for input gets end of
	 * file. */
	if (for_terminal && tcgetpgrp(STDIN_FILENO) < 0) {
		continue_group(child);
		return;
	}
	if (!for_terminal || tcgetpgrp(STDIN_FILENO) != child->our_group) {
		pass_terminal(child->terminal, child->group, child->our_group);
		signals_stop_self(signal, child->terminal == CHILD_TERMINAL_OWN);
	}
	continue_group(child);
}

static void main_ended(struct child *child, int status)
{
	child->running = false;
	child->status = status;
	child->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	/* A script that started us may read the terminal next: its group must be in the foreground
	 * again. */
	pass_terminal(child->terminal, child->group, child->our_group);
}

bool child_reap(struct child *child, void (*reaped)(void *arg, pid_t pid, int status), void *arg)
{
	bool ended = false;

	for (;;) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG | WUNTRACED);
		bool is_main = child->running && pid == child->pid;

		if (pid < 0 && errno == EINTR)
			continue;
		if (pid <= 0)
			return ended;
		if (WIFSTOPPED(status)) {
			if (is_main)
				stop_with_child(child, WSTOPSIG(status));
			continue;
		}
		if (is_main) {
			main_ended(child, status);
			ended = true;
		}
		if (reaped)
			reaped(arg, pid, status);
	}
}
