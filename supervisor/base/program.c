#include "base/program.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

int program_start(char *const *argv, char *const *environment, const struct program_file *files,
		  size_t count, pid_t *pid)
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
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
						      POSIX_SPAWN_SETPGROUP);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	for (size_t i = 0; i < count; i++)
		posix_spawn_file_actions_adddup2(&actions, files[i].ours, files[i].its);
	failed = posix_spawnp(pid, argv[0], &actions, &attributes, argv,
			      environment ? environment : environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return failed;
}

static int read_output(int fd, const struct program *program, struct bytes *output, struct err *err)
{
	int64_t deadline_ms = clock_monotonic_ms() + program->timeout_ms;
	struct pollfd waits[] = {{.fd = fd, .events = POLLIN},
				 {
					 .fd = program->cancel ? program->cancel->fd : -1,
					 .events = POLLIN,
				 }};

	for (;;) {
		int64_t left = clock_left_ms(deadline_ms), until = cancel_left_ms(program->cancel);
		char piece[4096];
		ssize_t got;
		int result = 0;

		if (cancel_check(program->cancel, err) < 0)
			return -1;
		if (left == 0)
			return err_set(err, ERR_RETRY, "no answer within %lld s",
				       (long long)program->timeout_ms / 1000);
		if (poll(waits, 2, (int)(left < until ? left : until)) <= 0 || !waits[0].revents)
			continue;
		got = read(fd, piece, sizeof(piece));
		if (got == 0)
			return 0;
		if (got < 0 && errno != EINTR)
			return err_os(err, errno, "reading its answer");
		if (got > 0)
			result = bytes_append(output, piece, (size_t)got, err);
		explicit_bzero(piece, sizeof(piece));
		if (result < 0)
			return -1;
	}
}

static int wait_for_exit(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 0;
	return status;
}

int program_run(const struct program *program, struct bytes *output, int *status, struct err *err)
{
	auto_close int input = -1;
	int ends[2], failed, result;
	pid_t pid;

	*status = 0;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_os(err, errno, "pipe");
	input = ends[0];
	const struct program_file files[] = {{ends[1], STDOUT_FILENO}, {ends[1], STDERR_FILENO}};
	failed = program_start(program->argv, program->environment, files,
			       program->with_errors ? 2 : 1, &pid);
	close(ends[1]);
	if (failed)
		return err_set(err, failed == ENOENT ? ERR_NOT_FOUND : ERR_FAILED, "%s",
			       strerror(failed));
	result = read_output(input, program, output, err);
	if (result < 0)
		kill(-pid, SIGKILL);
	*status = wait_for_exit(pid);
	return result;
}

#define OUTPUT_MOST (1 << 20)

int program_output(char *const *argv, char *const *environment, int64_t timeout_ms, char **output,
		   struct err *err)
{
	const struct program program = {
		.argv = argv,
		.environment = environment,
		.with_errors = true,
		.timeout_ms = timeout_ms,
	};
	auto_(bytes_release) struct bytes bytes = {.limit = OUTPUT_MOST};
	int status, result = program_run(&program, &bytes, &status, err);

	*output = text_copy_n(bytes.data ? (const char *)bytes.data : "", bytes.size);
	if (result < 0)
		return err_wrap(err, "%s", argv[0]);
	if (status != 0)
		return err_set(err, ERR_FAILED, "%s: %.*s", argv[0], (int)strcspn(*output, "\n"),
			       *output);
	return 0;
}
