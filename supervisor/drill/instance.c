#include "instance.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/exit_code.h"
#include "base/file.h"
#include "base/log.h"
#include "process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOG_MOST (64 << 20)

extern char **environ;

void instance_init(struct instance *instance, const char *label, char *name, char *directory)
{
	*instance = (struct instance){
		.directory = directory,
		.log = text_format("%s.log", name),
		.event_log = text_format("%s.events", name),
		.line = {.limit = 1 << 20},
		.log_line = {.limit = 1 << 20},
	};
	text_set(instance->label, sizeof(instance->label), label);
	free(name);
	event_log_reader_init(&instance->events);
}

void instance_release(struct instance *instance)
{
	free(instance->directory);
	free(instance->log);
	free(instance->event_log);
	bytes_release(&instance->line);
	bytes_release(&instance->log_line);
	job_steps_release(&instance->steps);
	*instance = (struct instance){0};
}

static bool is_replaced(const char *variable, const char *const *variables)
{
	size_t length = strcspn(variable, "=") + 1;

	for (; *variables; variables++)
		if (strncmp(variable, *variables, length) == 0)
			return true;
	return false;
}

/* Our environment with these variables replaced. The strings are borrowed; the caller frees the
 * array. */
static char **environment_with(const char *const *variables)
{
	size_t count = 0, used = 0;
	char **environment;

	while (environ[count])
		count++;
	for (size_t i = 0; variables[i]; i++)
		count++;
	environment = memory_grow(NULL, count + 1, sizeof(*environment));
	for (char **variable = environ; *variable; variable++)
		if (!is_replaced(*variable, variables))
			environment[used++] = *variable;
	for (; *variables; variables++)
		environment[used++] = (char *)*variables;
	environment[used] = NULL;
	return environment;
}

/* Runs between fork and exec. The metadata server has threads, so only async-signal-safe calls are
 * allowed. */
static _Noreturn void exec_run(const struct instance *instance, char *const *argv,
			       char **environment, const struct signals_inherited *inherited,
			       int input, int output)
{
	static const char said[] = "reprieve: error: the drill cannot start its machine\n";

	/* Detach from the terminal: Ctrl-C is for the drill, which kills the machines itself. */
	setsid();
	/* If the drill is killed itself, the run ends its job as on any SIGTERM. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (dup2(input, 0) >= 0 && dup2(output, 1) >= 0 && dup2(output, 2) >= 0 &&
	    chdir(instance->directory) == 0) {
		signals_restore(inherited);
		execve("/proc/self/exe", argv, environment);
	}
	(void)!write(output, said, sizeof(said) - 1);
	_exit(70);
}

int instance_start(struct instance *instance, char *const *argv, const char *const *variables,
		   const struct signals_inherited *inherited, struct err *err)
{
	auto_free char **environment = environment_with(variables);
	auto_close int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
	auto_close int output =
		open(instance->log, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);

	if (input < 0)
		return err_os(err, errno, "/dev/null");
	if (output < 0)
		return err_os(err, errno, "%s", instance->log);
	instance->pid = fork();
	if (instance->pid < 0)
		return err_os(err, errno, "cannot start a process");
	if (instance->pid == 0)
		exec_run(instance, argv, environment, inherited, input, output);
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

/* Reads the next part of a file that grows. False: there is none yet. */
static bool read_more(const char *path, off_t *read, struct bytes *line, bool show)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	char buffer[16384];
	ssize_t got = fd < 0 ? 0 : pread(fd, buffer, sizeof(buffer), *read);

	if (got <= 0)
		return false;
	*read += got;
	if (show)
		file_write_all(STDERR_FILENO, buffer, (size_t)got, NULL);
	/* A line that long is broken, and counts nothing. */
	if (bytes_append(line, buffer, (size_t)got, NULL) < 0)
		line->size = 0;
	return true;
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

bool instance_next_event(struct instance *instance, enum run_event *event)
{
	struct bytes *line = &instance->line;
	const uint8_t *newline;
	size_t length;

	while (!(newline = line->size ? memchr(line->data, '\n', line->size) : NULL))
		if (!read_more(instance->event_log, &instance->event_log_read, line, false))
			return false;
	length = (size_t)(newline - line->data);
	*event = event_log_reader_add(&instance->events, (const char *)line->data, length);
	name_as_user(instance, instance->events.elsewhere);
	line->size -= length + 1;
	memmove(line->data, newline + 1, line->size);
	return true;
}

static void take_warning(struct instance *instance, const char *line, size_t length)
{
	static const char kind[] = "warning: ";
	size_t ours = log_prefix_length(line, length), skip = ours + sizeof(kind) - 1;

	if (ours == 0 || length <= skip || memcmp(line + ours, kind, sizeof(kind) - 1) != 0)
		return;
	auto_free char *text = text_copy_n(line + skip, length - skip);
	name_as_user(instance, text);
	text_set(instance->warning, sizeof(instance->warning), text);
}

static void take_said(struct instance *instance, const char *line, size_t length)
{
	auto_free char *text = text_copy_n(line, length);

	text_to_line(text);
	if (text[strspn(text, " ")] && log_prefix_length(text, strlen(text)) == 0)
		text_set(instance->said, sizeof(instance->said), text);
}

/* Its end is a newline or, of a progress bar, a carriage return. */
static size_t line_length(const char *text, size_t size)
{
	size_t length = 0;

	while (length < size && text[length] != '\n' && text[length] != '\r')
		length++;
	return length;
}

/* A last line without its end may be incomplete: "step 12" of "step 120". */
static void take_lines(struct instance *instance, const struct step_patterns *patterns)
{
	struct bytes *lines = &instance->log_line;
	const char *text = (const char *)lines->data;
	int64_t now_ms = clock_monotonic_ms();
	size_t at = 0;

	for (;;) {
		size_t length = line_length(text + at, lines->size - at);

		if (at + length == lines->size)
			break;
		job_steps_add(&instance->steps, patterns, text + at, length, now_ms);
		take_warning(instance, text + at, length);
		take_said(instance, text + at, length);
		at += length + 1;
	}
	lines->size -= at;
	memmove(lines->data, lines->data + at, lines->size);
}

void instance_read_log(struct instance *instance, const struct step_patterns *patterns, bool show)
{
	while (read_more(instance->log, &instance->log_read, &instance->log_line, show))
		take_lines(instance, patterns);
}

char *instance_last_lines(const struct instance *instance, unsigned lines)
{
	auto_(bytes_release) struct bytes text = {.limit = LOG_MOST};
	size_t at;

	if (file_read(instance->log, &text, NULL) < 0 || text.size == 0)
		return text_copy("");
	for (at = text.size - 1; at > 0; at--)
		if (text.data[at - 1] == '\n' && --lines == 0)
			break;
	return text_copy_n((const char *)text.data + at, text.size - at);
}
