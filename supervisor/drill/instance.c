#include "drill.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOG_MOST (64 << 20)

void instance_init(struct instance *instance, const char *name, const char *directory)
{
	*instance = (struct instance){
		.directory = text_copy(directory),
		.log = {.path = text_format("%s.log", name), .lines.limit = 1 << 20},
		.event_log = {.path = text_format("%s.events", name), .lines.limit = 1 << 20},
	};
	event_log_reader_init(&instance->events);
}

void instance_release(struct instance *instance)
{
	free(instance->directory);
	free(instance->log.path);
	free(instance->event_log.path);
	bytes_release(&instance->log.lines);
	bytes_release(&instance->event_log.lines);
	job_steps_release(&instance->steps);
	*instance = (struct instance){0};
}

/* Runs between fork and exec. The metadata server has threads, so only async-signal-safe calls are
 * allowed. */
static _Noreturn void exec_run(const struct instance *instance, const char *program,
			       char *const *argv, char *const *environment,
			       const struct signals_inherited *inherited, int input, int output)
{
	static const char said[] = "reprieve: error: the drill cannot start its machine\n";
	int code = 70;

	/* Detach from the terminal: Ctrl-C is for the drill, which kills the machines itself. */
	setsid();
	/* If the drill is killed itself, the run ends its job as on any SIGTERM. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (dup2(input, 0) >= 0 && dup2(output, 1) >= 0 && dup2(output, 2) >= 0 &&
	    chdir(instance->directory) == 0) {
		signals_restore(inherited);
		execvpe(program, argv, environment);
		code = errno == ENOENT ? 127 : 126;
	}
	(void)!write(output, said, sizeof(said) - 1);
	_exit(code);
}

int instance_start(struct instance *instance, const char *program, char *const *argv,
		   char *const *environment, const struct signals_inherited *inherited,
		   struct err *err)
{
	auto_close int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
	auto_free char **variables = child_variables((const char *const *)environment, NULL);
	auto_close int output =
		open(instance->log.path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);

	if (input < 0)
		return err_os(err, errno, "/dev/null");
	if (output < 0)
		return err_os(err, errno, "%s", instance->log.path);
	instance->pid = fork();
	if (instance->pid < 0)
		return err_os(err, errno, "cannot start a process");
	if (instance->pid == 0)
		exec_run(instance, program, argv, variables, inherited, input, output);
	instance->running = true;
	return 0;
}

void instance_poll(struct instance *instance)
{
	int status;

	if (!instance->running || waitpid(instance->pid, &status, WNOHANG) != instance->pid)
		return;
	instance->running = false;
	instance->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void instance_kill(struct instance *instance)
{
	const struct timespec moment = {.tv_nsec = 2000000};

	/* The run is a subreaper: while it is stopped, and does not end, nothing leaves its tree.
	 */
	kill(instance->pid, SIGSTOP);
	while (kill_tree_below(instance->pid) > 0)
		nanosleep(&moment, NULL);
	kill(instance->pid, SIGKILL);
}

void instance_kill_all(void)
{
	const struct timespec moment = {.tv_nsec = 2000000};

	while (waitpid(-1, NULL, WNOHANG) >= 0 || errno == EINTR)
		if (kill_tree() > 0)
			nanosleep(&moment, NULL);
}

int instance_plain_exit_code(const struct instance *instance)
{
	if (text_equal(instance->events.outcome, "preempted"))
		return EXIT_PREEMPTED;
	if (text_equal(instance->events.outcome, "not_durable"))
		return EXIT_NOT_DURABLE;
	return instance->exit_code;
}

/* Reads the next part. False: there is none yet. */
static bool read_more(struct tail *tail, bool show)
{
	auto_close int fd = open(tail->path, O_RDONLY | O_CLOEXEC);
	char buffer[16384];
	ssize_t got = fd < 0 ? 0 : pread(fd, buffer, sizeof(buffer), tail->read);

	if (got <= 0)
		return false;
	tail->read += got;
	if (show)
		file_write_all(STDERR_FILENO, buffer, (size_t)got, NULL);
	/* A line that long is broken, and counts nothing. */
	if (bytes_append(&tail->lines, buffer, (size_t)got, NULL) < 0)
		tail->lines.size = 0;
	return true;
}

/* The next line, valid until the next call. Its end is a newline or, of a progress bar, a carriage
 * return: one without may be incomplete, "step 12" of "step 120". NULL: there is none yet. */
static char *next_line(struct tail *tail, bool show)
{
	struct bytes *lines = &tail->lines;
	size_t at = 0;

	lines->size -= tail->taken;
	if (tail->taken > 0)
		memmove(lines->data, lines->data + tail->taken, lines->size);
	for (tail->taken = 0;; at++) {
		if (at >= lines->size && !read_more(tail, show))
			return NULL;
		/* It was too long. */
		if (at >= lines->size)
			at = 0;
		if (lines->size > 0 && (lines->data[at] == '\n' || lines->data[at] == '\r'))
			break;
	}
	lines->data[at] = '\0';
	tail->taken = at + 1;
	return (char *)lines->data;
}

/* In place: paths in the machine's directory become relative to it. */
static void name_as_user(const struct instance *instance, char *text)
{
	size_t length = strlen(instance->directory);

	for (char *at = text; (at = strstr(at, instance->directory));)
		if (at[length] == '/' && at[length + 1] > ' ')
			memmove(at, at + length + 1, strlen(at + length + 1) + 1);
		else
			at += length;
}

bool instance_next_event(struct instance *instance)
{
	const char *line = next_line(&instance->event_log, false);

	if (!line)
		return false;
	event_log_reader_add(&instance->events, line, strlen(line));
	name_as_user(instance, instance->events.elsewhere);
	name_as_user(instance, instance->events.said);
	return true;
}

/* Keeps the last warning of ours, and the last line of the job. */
static void take_line(struct instance *instance, char *line)
{
	static const char kind[] = "warning: ";
	size_t ours = log_prefix_length(line, strlen(line));

	if (ours > 0 && text_starts(line + ours, kind)) {
		name_as_user(instance, line);
		text_set(instance->warning, sizeof(instance->warning), line + ours + strlen(kind));
	}
	text_to_line(line);
	if (ours == 0 && line[strspn(line, " ")])
		text_set(instance->said, sizeof(instance->said), line);
}

void instance_read_log(struct instance *instance, const struct step_patterns *patterns, bool show)
{
	char *line;

	while ((line = next_line(&instance->log, show))) {
		job_steps_add(&instance->steps, patterns, line, strlen(line), clock_monotonic_ms());
		take_line(instance, line);
	}
}

char *instance_last_lines(const struct instance *instance, unsigned lines)
{
	auto_(bytes_release) struct bytes text = {.limit = LOG_MOST};
	size_t at;

	if (file_read(instance->log.path, &text, NULL) < 0 || text.size == 0)
		return text_copy("");
	for (at = text.size - 1; at > 0; at--)
		if (text.data[at - 1] == '\n' && --lines == 0)
			break;
	return text_copy_n((const char *)text.data + at, text.size - at);
}
