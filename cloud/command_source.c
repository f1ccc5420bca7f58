/* A command reports a notice: for clouds and schedulers that Reprieve does not know. It runs every
 * few seconds. */
#include "command_result.h"
#include "provider.h"
#include "watcher.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/program.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum {
	POLL_MS = 5000,
	COMMAND_TIMEOUT_MS = 30 * 1000,
	OUTPUT_LIMIT = 64 * 1024,
	STATUS_FD = 3,
	DRAIN_READS = 16,
};

struct session {
	struct watcher *watcher;
	const char *command;
	pid_t pid;          /* process and group; 0: none runs */
	int output, status; /* ends of pipes that we read from */
	struct bytes text;
	char code[16]; /* digits of the exit code so far */
	size_t code_size;
	struct notice announced; /* kind NONE: nothing was reported */
};

/*
 * The exit status comes through a pipe, because the supervisor is an init, whose loop reaps every
 * child, this one too. What the command leaves in the background may hold its stdout open, but not
 * that pipe.
 */
static const char script[] = "(eval \"$1\") 3>&-; echo $? >&3";

/* Removes the variables that identify the ranks of a job: the command is no rank. */
static char **environment_without_ranks(void)
{
	static const char *const ranks[] = {"RANK=",      "LOCAL_RANK=", "OMPI_COMM_WORLD_RANK=",
					    "PMIX_RANK=", "PMI_RANK=",   "SLURM_PROCID="};
	size_t count = 0, kept = 0;
	char **environment;

	while (environ[count])
		count++;
	environment = memory_new((count + 1) * sizeof(*environment));
	for (size_t i = 0; i < count; i++) {
		bool is_rank = false;

		for (size_t j = 0; j < sizeof(ranks) / sizeof(ranks[0]); j++)
			is_rank |= text_starts(environ[i], ranks[j]);
		if (!is_rank)
			environment[kept++] = environ[i];
	}
	return environment;
}

static int spawn_in_group(struct session *session, int output, int status)
{
	char *const argv[] = {(char *)"/bin/sh",        (char *)"-c", (char *)script, (char *)"sh",
			      (char *)session->command, NULL};
	auto_free char **environment = environment_without_ranks();
	const struct program_file files[] = {{output, STDOUT_FILENO}, {status, STATUS_FD}};

	return program_start(argv, environment, files, 2, &session->pid);
}

/* Keeps clear of the descriptors that the shell gets: a dup2() to itself would keep
 * close-on-exec. */
static int open_pipe(int ends[2])
{
	int low[2];

	if (pipe2(low, O_CLOEXEC | O_NONBLOCK) < 0)
		return -1;
	for (int i = 0; i < 2; i++) {
		ends[i] = fcntl(low[i], F_DUPFD_CLOEXEC, STATUS_FD + 1);
		close(low[i]);
	}
	/* The command's end must block, as programs expect. */
	return ends[0] < 0 || ends[1] < 0 || fcntl(ends[1], F_SETFL, 0) < 0 ? -1 : 0;
}

static int start_command(struct session *session, struct err *err)
{
	auto_close int output_read = -1, output_write = -1, status_read = -1, status_write = -1;
	int output[2] = {-1, -1}, status[2] = {-1, -1};
	bool opened = open_pipe(output) == 0 && open_pipe(status) == 0;
	int failed = opened ? 0 : errno;

	output_read = output[0];
	output_write = output[1];
	status_read = status[0];
	status_write = status[1];
	if (opened)
		failed = spawn_in_group(session, output_write, status_write);
	if (failed) {
		session->pid = 0;
		return err_os(err, failed, "cannot start the notice command");
	}
	session->output = steal_fd(&output_read);
	session->status = steal_fd(&status_read);
	return 0;
}

/* Ends the whole group; otherwise every run would leave another background process. The shell is
 * reaped by the supervisor's loop or here, whichever is first. */
static void kill_command(struct session *session)
{
	kill(-session->pid, SIGKILL);
	waitpid(session->pid, NULL, 0);
	session->pid = 0;
	close(session->output);
	close(session->status);
}

/* False: end of file. */
static bool drain_output(int fd, struct bytes *text)
{
	char piece[4096];
	ssize_t count = 1;

	/* Bounded, because some commands never stop printing. */
	for (int reads = 0; reads < DRAIN_READS && count > 0; reads++)
		if ((count = read(fd, piece, sizeof(piece))) > 0)
			bytes_append(text, piece, (size_t)count,
				     NULL); /* output that is too long is cut */
	return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

static bool read_exit_code(struct session *session)
{
	size_t most = sizeof(session->code) - 1;
	ssize_t count;

	if (session->code_size >= most)
		return false;
	count = read(session->status, session->code + session->code_size,
		     most - session->code_size);
	if (count < 0)
		return errno == EAGAIN || errno == EINTR;
	session->code_size += (size_t)count;
	session->code[session->code_size] = '\0';
	return count > 0 && !strchr(session->code, '\n');
}

static void wait_for_result(struct session *session)
{
	int64_t until = clock_monotonic_ms() + COMMAND_TIMEOUT_MS;
	struct pollfd waits[] = {
		{.fd = session->status, .events = POLLIN},
		{.fd = watcher_cancel(session->watcher)->fd, .events = POLLIN},
		{.fd = session->output, .events = POLLIN},
	};

	while (!watcher_stopping(session->watcher) && clock_left_ms(until) > 0) {
		if (poll(waits, 3, (int)clock_left_ms(until)) <= 0)
			continue;
		if (waits[2].revents && !drain_output(session->output, &session->text))
			waits[2].fd = -1;
		if (waits[0].revents && !read_exit_code(session))
			break;
	}
	drain_output(session->output, &session->text);
}

static void handle_result(struct session *session)
{
	char *newline = strchr(session->code, '\n');
	const struct command_result end = {
		.command = session->command,
		.ended = newline != NULL,
		.code = atoi(session->code),
		.text = (const char *)session->text.data,
		.size = session->text.size,
		.seen_ms = clock_monotonic_ms(),
		.seen_wall_ms = clock_wall_ms(),
	};
	struct verdict verdict;
	bool another;

	command_result_judge(&end, &verdict);
	if (verdict.kind == VERDICT_UNKNOWN) {
		watcher_unknown(session->watcher, verdict.why);
		return;
	}
	watcher_known(session->watcher);
	watcher_set_note(session->watcher, verdict.why);
	another = verdict.kind != VERDICT_POSITIVE ||
		  !text_equal(verdict.notice.identity, session->announced.identity);
	if (session->announced.kind != NOTICE_NONE && another) {
		struct notice gone = session->announced;

		session->announced.kind = NOTICE_NONE;
		gone.kind = NOTICE_CANCELLED;
		gone.deadline_ms = CLOCK_NEVER;
		gone.seen_ms = end.seen_ms;
		text_set(gone.reason, sizeof(gone.reason), "the command says so no more");
		watcher_notice(session->watcher, &gone);
	}
	if (verdict.kind == VERDICT_POSITIVE) {
		session->announced = verdict.notice;
		watcher_notice(session->watcher, &verdict.notice);
	}
}

static void poll_command(struct session *session)
{
	struct err err;

	session->code_size = session->text.size = 0;
	session->code[0] = '\0';
	if (start_command(session, &err) < 0) {
		watcher_unknown(session->watcher, err.text);
		return;
	}
	wait_for_result(session);
	kill_command(session);
	if (!watcher_stopping(session->watcher))
		handle_result(session);
}

static void run_command_source(struct watcher *watcher)
{
	struct session session = {
		.watcher = watcher,
		.command = watcher_argument(watcher),
		.text = {.limit = OUTPUT_LIMIT},
	};

	/* The command itself may contain a secret. */
	watcher_set_endpoint(watcher, "a command");
	do
		poll_command(&session);
	while (watcher_sleep(watcher, POLL_MS));
	bytes_release(&session.text);
}

static int check_argument(const char *argument, struct err *err)
{
	if (!argument[0])
		return err_set(err, ERR_INVALID,
			       "\"command\" needs a command: use command:COMMAND, as the last of "
			       "the "
			       "list");
	return 0;
}

const struct provider provider_command = {
	.name = "command",
	.run = run_command_source,
	.check = check_argument,
};
