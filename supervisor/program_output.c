#include "program_output.h"

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

#define OUTPUT_MOST (1 << 20)

static int spawn(char *const *argv, char *const *environment, int output, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	int failed;

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
	posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
	failed = posix_spawnp(pid, argv[0], &actions, &attributes, argv, environment);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return failed;
}

static int read_all(int fd, int64_t deadline_ms, struct bytes *bytes, struct err *err)
{
	for (;;) {
		struct pollfd wait = {.fd = fd, .events = POLLIN};
		int64_t left = clock_left_ms(deadline_ms);
		char piece[4096];
		ssize_t got;

		if (left <= 0)
			return err_set(err, ERR_RETRY, "no answer in time");
		if (poll(&wait, 1, (int)left) <= 0)
			continue;
		got = read(fd, piece, sizeof(piece));
		if (got == 0)
			return 0;
		if (got < 0 && errno != EINTR)
			return err_os(err, errno, "reading its answer");
		if (got > 0 && bytes_append(bytes, piece, (size_t)got, err) < 0)
			return -1;
	}
}

static int wait_for(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 0;
	return status;
}

int program_output(char *const *argv, int64_t timeout_ms, char **output, struct err *err)
{
	return program_output_with(argv, environ, timeout_ms, output, err);
}

int program_output_with(char *const *argv, char *const *environment, int64_t timeout_ms,
	char **output, struct err *err)
{
	auto_(bytes_release) struct bytes bytes = {.limit = OUTPUT_MOST};
	auto_close int input = -1;
	int ends[2], failed, status, result;
	pid_t pid;

	*output = text_copy("");
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_os(err, errno, "pipe");
	input = ends[0];
	failed = spawn(argv, environment, ends[1], &pid);
	close(ends[1]);
	if (failed)
		return err_set(err, failed == ENOENT ? ERR_NOT_FOUND : ERR_FAILED, "%s: %s",
			argv[0], strerror(failed));
	result = read_all(input, clock_monotonic_ms() + timeout_ms, &bytes, err);
	if (result < 0)
		kill(-pid, SIGKILL);
	status = wait_for(pid);
	free(*output);
	*output = text_copy_n(bytes.data ? (const char *)bytes.data : "", bytes.size);
	if (result < 0)
		return err_wrap(err, "%s", argv[0]);
	if (status != 0)
		return err_set(
			err, ERR_FAILED, "%s: %.*s", argv[0], (int)strcspn(*output, "\n"), *output);
	return 0;
}
