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

/* Takes over `name`, the path of its logs without their ends, and `directory`. */
static void init_named(struct instance *instance, char *name, char *directory)
{
	*instance = (struct instance){
		.directory = directory,
		.log = text_format("%s.log", name),
		.event_log = text_format("%s.events", name),
		.files = text_format("%s.files", name),
		.line = {.limit = 1 << 20},
		.log_line = {.limit = 1 << 20},
	};
	free(name);
	event_log_reader_init(&instance->events);
}

void instance_init(struct instance *instance, const char *scratch, unsigned number)
{
	init_named(instance, text_format("%s/machine-%u", scratch, number),
		   text_format("%s/machine-%u", scratch, number));
	instance->number = number;
	snprintf(instance->label, sizeof(instance->label), "machine %u", number);
}

void instance_init_member(struct instance *instance, const char *scratch, unsigned start,
			  unsigned member, char *directory)
{
	init_named(instance, text_format("%s/start-%u-member-%u", scratch, start, member),
		   directory);
	instance->number = member;
	snprintf(instance->label, sizeof(instance->label), "member %u", member);
}

void instance_release(struct instance *instance)
{
	free(instance->directory);
	free(instance->log);
	free(instance->event_log);
	free(instance->files);
	tree_look_release(&instance->look);
	bytes_release(&instance->line);
	bytes_release(&instance->log_line);
	job_log_release(&instance->counts);
	printed_lines_release(&instance->lines);
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
			       char **environment, const struct shared_directories *shared,
			       const struct signals_inherited *inherited, int input, int output)
{
	static const char said[] = "reprieve: error: the drill cannot start its machine\n";

	/* Detach from the terminal: Ctrl-C is for the drill, which kills the machines itself. */
	setsid();
	if (shared && !shared_directories_close(shared))
		goto failed;
	/* If the drill is killed itself, the run ends its job as on any SIGTERM. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (dup2(input, 0) >= 0 && dup2(output, 1) >= 0 && dup2(output, 2) >= 0 &&
	    chdir(instance->directory) == 0) {
		signals_restore(inherited);
		execve("/proc/self/exe", argv, environment);
	}
failed:
	(void)!write(output, said, sizeof(said) - 1);
	_exit(70);
}

int instance_start(struct instance *instance, char *const *argv, const char *const *variables,
		   const struct shared_directories *shared,
		   const struct signals_inherited *inherited, struct err *err)
{
	auto_free char **environment = environment_with(variables);
	auto_close int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
	auto_close int output =
		open(instance->log, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);

	auto_close int files =
		open(instance->files, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);

	if (input < 0)
		return err_os(err, errno, "/dev/null");
	if (files < 0)
		return err_os(err, errno, "%s", instance->files);
	if (output < 0)
		return err_os(err, errno, "%s", instance->log);
	instance->pid = fork();
	if (instance->pid < 0)
		return err_os(err, errno, "cannot start a process");
	if (instance->pid == 0)
		exec_run(instance, argv, environment, shared, inherited, input, output);
	instance->running = true;
	return 0;
}

static void note_end(struct instance *instances, size_t count, pid_t pid, int status)
{
	for (size_t i = 0; i < count; i++) {
		if (!instances[i].running || pid != instances[i].pid)
			continue;
		instances[i].running = false;
		instances[i].exit_code =
			WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
}

/* Reaps all dead children. False: there are no children, dead or alive. */
static bool reap_children(struct instance *instances, size_t count)
{
	for (;;) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG);

		if (pid < 0 && errno == EINTR)
			continue;
		if (pid <= 0)
			return pid == 0;
		note_end(instances, count, pid, status);
	}
}

void instance_poll(struct instance *instances, size_t count)
{
	reap_children(instances, count);
}

void instance_kill(struct instance *instances, size_t count)
{
	const struct timespec moment = {.tv_nsec = 2000000};

	while (reap_children(instances, count)) {
		kill_tree();
		nanosleep(&moment, NULL);
	}
}

/* The run is a subreaper: while it is stopped, and does not end, nothing leaves its tree. */
void instance_kill_alone(struct instance *instance)
{
	const struct timespec moment = {.tv_nsec = 2000000};

	if (kill(instance->pid, SIGSTOP) < 0)
		return;
	while (kill_tree_below(instance->pid) > 0)
		nanosleep(&moment, NULL);
	kill(instance->pid, SIGKILL);
}

int instance_plain_exit_code(const struct instance *instance)
{
	if (text_equal(instance->events.outcome, "preempted"))
		return EXIT_PREEMPTED;
	if (text_equal(instance->events.outcome, "not_durable"))
		return EXIT_NOT_DURABLE;
	return instance->exit_code;
}

static void read_event_log(struct instance *instance)
{
	auto_close int fd = open(instance->event_log, O_RDONLY | O_CLOEXEC);
	char buffer[16384];
	ssize_t got;

	if (fd < 0)
		return;
	while ((got = pread(fd, buffer, sizeof(buffer), instance->event_log_read)) > 0) {
		instance->event_log_read += got;
		if (bytes_append(&instance->line, buffer, (size_t)got, NULL) < 0)
			instance->line.size =
				0; /* a line this long is broken: the reader reports it */
	}
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
	const uint8_t *newline = line->size ? memchr(line->data, '\n', line->size) : NULL;
	size_t length;

	if (!newline) {
		read_event_log(instance);
		newline = line->size ? memchr(line->data, '\n', line->size) : NULL;
	}
	if (!newline)
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

/* A last line without its end may be incomplete: "step 12" of "step 120". */
static void take_lines(struct instance *instance)
{
	struct bytes *lines = &instance->log_line;
	const char *text = (const char *)lines->data;
	int64_t now_ms = clock_monotonic_ms();
	size_t at = 0;

	for (;;) {
		size_t length = job_log_line_length(text + at, lines->size - at);

		if (at + length == lines->size)
			break;
		job_log_add(&instance->counts, text + at, length, now_ms);
		printed_lines_add(&instance->lines, text + at, length, now_ms);
		take_warning(instance, text + at, length);
		take_said(instance, text + at, length);
		at += length + 1;
	}
	lines->size -= at;
	memmove(lines->data, lines->data + at, lines->size);
}

void instance_read_log(struct instance *instance, bool show)
{
	auto_close int fd = open(instance->log, O_RDONLY | O_CLOEXEC);
	char buffer[16384];
	ssize_t got;

	while (fd >= 0 && (got = pread(fd, buffer, sizeof(buffer), instance->log_read)) > 0) {
		instance->log_read += got;
		if (show)
			file_write_all(STDERR_FILENO, buffer, (size_t)got, NULL);
		/* A line that long counts nothing. */
		if (bytes_append(&instance->log_line, buffer, (size_t)got, NULL) < 0)
			instance->log_line.size = 0;
		else
			take_lines(instance);
	}
}

void instance_read_accesses(struct instance *instance, struct file_accesses *accesses,
			    struct restored_files *restored)
{
	auto_(bytes_release) struct bytes text = {.limit = LOG_MOST};

	*accesses = (struct file_accesses){0};
	if (file_read(instance->files, &text, NULL) == 0)
		file_accesses_read((const char *)text.data, text.size, accesses, restored,
				   &instance->counts);
}

char *instance_last_lines(const struct instance *instance, unsigned lines)
{
	auto_(bytes_release) struct bytes text = {.limit = LOG_MOST};
	size_t at;

	if (file_read(instance->log, &text, NULL) < 0 || text.size == 0)
		return text_copy("");
	at = job_log_tail((const char *)text.data, text.size, lines);
	return text_copy_n((const char *)text.data + at, text.size - at);
}
