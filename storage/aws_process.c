/* credential_process: a command that prints credentials. With it, single sign-on and any vault can be a source. */
#include "aws_source.h"

#include "aws_answer.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	OUTPUT_MOST = 64 * 1024,
	TIMEOUT_MS = 60 * 1000
};

extern char **environ;

static int spawn(const char *command, int output, pid_t *pid, struct err *err)
{
	char *const arguments[] = {"sh", "-c", (char *)command, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	int failed;

	/* Our threads block signals, and ignore some: the command gets a fresh start, and a group of its own to be ended with. */
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setflags(&attributes,
		POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	failed = posix_spawn(pid, "/bin/sh", &actions, &attributes, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return failed ? err_os(err, failed, "/bin/sh") : 0;
}

static int read_output(int fd, struct bytes *output, struct cancel *cancel, struct err *err)
{
	int64_t deadline = clock_monotonic_ms() + TIMEOUT_MS;
	struct pollfd wait[] = {
		{.fd = fd, .events = POLLIN}, {.fd = cancel ? cancel->fd : -1, .events = POLLIN}};

	for (;;) {
		int64_t left = clock_left_ms(deadline), until = cancel_left_ms(cancel);
		char piece[4096];
		ssize_t got;

		if (cancel_check(cancel, err) < 0)
			return -1;
		if (left == 0)
			return err_set(err, ERR_RETRY, "no answer within %d s", TIMEOUT_MS / 1000);
		if (poll(wait, 2, (int)(left < until ? left : until)) <= 0 || !wait[0].revents)
			continue;
		got = read(fd, piece, sizeof(piece));
		if (got < 0 && errno != EINTR)
			return err_os(err, errno, "reading its answer");
		if (got == 0)
			return 0;
		if (got > 0 && bytes_append(output, piece, (size_t)got, err) < 0)
			return -1;
		explicit_bzero(piece, sizeof(piece));
	}
}

/* Where the program that we are part of reaps all its children by itself, the status may be gone: then the output alone counts. */
static int wait_for(pid_t pid, struct err *err)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	return err_set(err, ERR_DENIED, "it failed (%s %d)",
		WIFEXITED(status) ? "exit code" : "signal",
		WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

static int run(const char *command, struct bytes *output, struct cancel *cancel, struct err *err)
{
	int ends[2];
	auto_close int input = -1;
	pid_t pid;
	int result;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_os(err, errno, "pipe");
	input = ends[0];
	result = spawn(command, ends[1], &pid, err);
	close(ends[1]);
	if (result < 0)
		return -1;
	result = read_output(input, output, cancel, err);
	if (result < 0)
		kill(-pid, SIGKILL);
	return wait_for(pid, result < 0 ? NULL : err) < 0 ? -1 : result;
}

int aws_process_run(const char *command, struct aws_credentials *credentials, struct cancel *cancel,
	struct err *err)
{
	auto_(bytes_release) struct bytes output = {.limit = OUTPUT_MOST};
	int result = run(command, &output, cancel, err);

	if (result == 0)
		result = aws_answer_json(output.data, output.size, credentials, err);
	if (output.data)
		explicit_bzero(output.data, output.size);
	/* The command itself may hold a secret. */
	return result < 0 ? err_wrap(err, "credential_process") : 0;
}
