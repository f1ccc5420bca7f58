#include "drill.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/program.h"
#include "base/text.h"
#include "base/walk.h"
#include "process/process.h"
#include "storage/storage.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* --- one machine --- */

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

/* `program`: as in execvp(3). `environment`: what is set beside our own. Both end with NULL. */
static int instance_start(struct instance *instance, const char *program, char *const *argv,
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

/* --- what all machines share --- */

/* How often the event log and the clock are read. */
#define POLL_MS 10

/* Texts, each owned; NULL behind the last. */
struct words {
	char **items;
	size_t count;
};

/* Takes over `word`. */
static void add_word(struct words *words, char *word)
{
	words->items = memory_grow(words->items, words->count + 2, sizeof(*words->items));
	words->items[words->count++] = word;
	words->items[words->count] = NULL;
}

static void add_copies(struct words *words, char *const *items, size_t count)
{
	for (size_t i = 0; i < count && items[i]; i++)
		add_word(words, text_copy(items[i]));
}

static void words_release(struct words *words)
{
	for (size_t i = 0; i < words->count; i++)
		free(words->items[i]);
	free(words->items);
}
AUTO(struct words, words_release);

int sandbox_wait_turn(struct sandbox *sandbox, struct err *err)
{
	const struct scenario_options *options = sandbox->options;
	const struct timespec turn = {.tv_nsec = POLL_MS * 1000000};
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	sigset_t signals;
	int received;

	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	/* sigtimedwait() also returns what is ignored, such as SIGHUP under nohup. */
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (sigismember(&options->inherited->ignored, ends[i]) != 1)
			sigaddset(&signals, ends[i]);
	if (options->timeout_ms > 0 && clock_left_ms(options->began_ms + options->timeout_ms) == 0)
		received = SIGALRM;
	else
		received = sigtimedwait(&signals, NULL, &turn);
	if (received <= 0 || received == SIGCHLD)
		return 0;
	sandbox->signal = received;
	return err_set(err, ERR_CANCELLED, "%s",
		       received == SIGALRM ? "its time is over" : "ended by a signal");
}

/* --- what a machine has of the user's directory --- */

char *path_below(const char *path, const char *from)
{
	size_t length = text_equal(from, "/") ? 0 : strlen(from), used = 0;
	auto_free char *plain = NULL;

	if (*path == '/' && (strncmp(path, from, length) != 0 || path[length] != '/'))
		return NULL;
	path += *path == '/' ? length : 0;
	plain = memory_new(strlen(path) + 2);
	for (; *path; path += strspn(path, "/")) {
		size_t word = strcspn(path, "/");

		if (word == 2 && path[0] == '.' && path[1] == '.')
			return NULL;
		if (word > 0 && !(word == 1 && path[0] == '.')) {
			plain[used] = '/';
			memcpy(plain + used + (used > 0), path, word);
			used += word + (used > 0);
		}
		path += word;
	}
	return used ? steal(&plain) : NULL;
}

/* By its name, and by what that leads to. */
static void leave_out(struct words *words, const char *from, const char *path, const char *ending)
{
	auto_free char *whole =
		text_format("%s%s%s", *path == '/' ? "" : from, *path == '/' ? "" : "/", path);
	auto_free char *real = file_absolute(whole);

	add_word(words, text_format("%s%s", whole, ending));
	add_word(words, text_format("%s%s", real ? real : whole, ending));
}

/* A machine's own state, the drill's, and what the user says. */
static char **find_left_out(const struct sandbox *sandbox, const struct scenario_options *options)
{
	static const char file[] = "file://";
	struct words words = {0};

	leave_out(&words, sandbox->from, options->checkpoint_dir, "");
	leave_out(&words, sandbox->from, options->checkpoint_dir, ".reprieve");
	leave_out(&words, "", sandbox->scratch, "");
	if (options->compare)
		leave_out(&words, sandbox->from, options->compare, "");
	if (text_starts(sandbox->store, file))
		leave_out(&words, sandbox->from, sandbox->store + strlen(file), "");
	for (size_t i = 0; options->excluded[i]; i++)
		leave_out(&words, sandbox->from, options->excluded[i], "");
	return words.items;
}

/* 'o': it is left out; 'w': it holds what is; 'c': all of it is copied. */
static char what_becomes(const struct sandbox *sandbox, const char *path)
{
	size_t length = strlen(path);
	char becomes = 'c';

	for (char **out = sandbox->left_out; *out; out++) {
		if (text_equal(*out, path))
			return 'o';
		if (text_starts(*out, path) && (*out)[length] == '/')
			becomes = 'w';
	}
	return becomes;
}

/* cp of coreutils or busybox. */
static int copy_whole(struct sandbox *sandbox, const char *from, const char *to, struct err *err)
{
	char *argv[] = {"cp", "-a", "--reflink=auto", "--", (char *)from, (char *)to, NULL};
	int status = 0;
	pid_t pid;
	int failed = program_start(argv, NULL, NULL, 0, &pid);

	if (failed)
		return err_os(err, failed, "cp");
	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (sandbox_wait_turn(sandbox, err) == 0)
			continue;
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		return -1;
	}
	if (status == 0)
		return 0;
	return err_set(err, ERR_NO_SPACE,
		       "%s cannot be copied to %s (cp says above why): --exclude it, if the job "
		       "does not need it",
		       from, to);
}

/* A relative link out of the directory leads there still; one into it, also an absolute one, leads
 * to the machine's own. */
static int copy_link(const char *from, const char *to, const char *path, const char *target)
{
	auto_free char *real = file_absolute(path);
	size_t length = strlen(from);
	auto_free char *below = real && text_starts(real, from) && real[length] == '/'
					? text_format("%s%s", to, real + length)
					: NULL;

	return symlink(below ? below : real ? real : path, target);
}

/* `to` NULL: adds up what it takes on the disk, and copies nothing. */
static int copy_directory(struct sandbox *sandbox, const char *to, const char *below,
			  uint64_t *bytes, struct err *err)
{
	auto_free char *from = text_format("%s%s", sandbox->from, below);
	auto_free char *target = text_format("%s%s", to ? to : "", below);
	auto_(walk_close) struct walk walk;

	if (to && file_make_directories(target, 0777, err) < 0)
		return -1;
	if (walk_open(&walk, from, 0) < 0)
		return to ? err_os(err, errno, "%s", from) : 0;
	while (walk_next(&walk)) {
		auto_free char *path = text_format("%s/%s", from, walk.name);
		auto_free char *name = text_format("%s/%s", below, walk.name);
		auto_free char *whole = text_format("%s/%s", target, walk.name);
		char becomes = what_becomes(sandbox, path), link[2];
		struct stat about;
		int failed = 0;

		if (becomes == 'o')
			continue;
		if (walk_read_link(&walk, link, sizeof(link)) >= 0)
			failed = to ? copy_link(sandbox->from, to, path, whole) : 0;
		else if (walk_is_directory(&walk) && (!to || becomes == 'w'))
			failed = copy_directory(sandbox, to, name, bytes, err);
		else if (to)
			failed = copy_whole(sandbox, path, whole, err);
		else if (bytes &&
			 fstatat(walk.directory, walk.name, &about, AT_SYMLINK_NOFOLLOW) == 0)
			*bytes += (uint64_t)about.st_blocks * 512;
		if (failed < 0)
			return -1;
	}
	return 0;
}

/* --- the whole --- */

static int make_scratch(struct sandbox *sandbox, const char *directory, struct err *err)
{
	const char *temporary = getenv("TMPDIR");
	auto_free char *name = text_format("%s/reprieve-drill-XXXXXX",
					   temporary && *temporary == '/' ? temporary : "/tmp");

	if (directory && !file_directory_is_empty(directory))
		return err_set(err, ERR_EXISTS,
			       "--directory %s is not an empty directory: name a new one",
			       directory);
	if (directory && file_make_directories(directory, 0777, err) < 0)
		return err_wrap(err, "--directory %s", directory);
	if (!directory && !mkdtemp(name))
		return err_os(err, errno, "cannot make %s", name);
	sandbox->scratch = file_absolute(directory ? directory : name);
	return 0;
}

/* Half of what is free is for all machines together, of which each has all. */
static int check_room(struct sandbox *sandbox, struct err *err)
{
	const struct scenario_options *options = sandbox->options;
	uint64_t members = options->gang > 0 ? options->gang : 1, bytes = 0, free_bytes;
	uint64_t machines = members * (options->compare ? 2 : 1) + options->rounds;
	char needed[32], room[32];
	struct statvfs about;

	copy_directory(sandbox, NULL, "", &bytes, NULL);
	if (statvfs(sandbox->scratch, &about) < 0)
		return err_os(err, errno, "%s", sandbox->scratch);
	free_bytes = (uint64_t)about.f_bavail * about.f_frsize;
	if (bytes <= free_bytes / 2 / machines)
		return 0;
	return err_set(err, ERR_NO_SPACE,
		       "the current directory is too large: %s for each of %" PRIu64
		       " machines, and %s has %s: --exclude what the job does not need",
		       text_bytes(bytes, needed, sizeof(needed)), machines, sandbox->scratch,
		       text_bytes(free_bytes, room, sizeof(room)));
}

/* No machine is to say of a store that is the drill's own that it has found it new. */
static int make_store(const struct sandbox *sandbox, struct err *err)
{
	const struct storage_options options = {
		.url = sandbox->store,
		.job = "drill",
		.create = true,
	};
	auto_(storage_close) struct storage *storage = NULL;

	return storage_open(&options, &storage, NULL, err);
}

int sandbox_make(struct sandbox *sandbox, const struct scenario_options *options, struct err *err)
{
	*sandbox = (struct sandbox){.options = options, .from = getcwd(NULL, 0)};
	if (!sandbox->from)
		return err_os(err, errno, "working directory");
	if (make_scratch(sandbox, options->directory, err) < 0)
		return -1;
	sandbox->store = options->store ? text_copy(options->store)
					: text_format("file://%s/store", sandbox->scratch);
	if (!options->store && make_store(sandbox, err) < 0)
		return -1;
	/* The store may be the user's own: the drill must not claim attempts of a real job in it.
	 */
	sandbox->job =
		text_format("drill-%lld-%d", (long long)(clock_wall_ms() / 1000), (int)getpid());
	sandbox->left_out = find_left_out(sandbox, options);
	return check_room(sandbox, err);
}

void sandbox_release(struct sandbox *sandbox)
{
	for (char **out = sandbox->left_out; out && *out; out++)
		free(*out);
	free(sandbox->left_out);
	free(sandbox->scratch);
	free(sandbox->from);
	free(sandbox->store);
	free(sandbox->job);
	*sandbox = (struct sandbox){0};
}

/* What is set beside the environment. Laptops often disable the metadata
 * service, so that tools do not wait for one; a line tells the time of a step only if it comes at
 * once. The empty ones are settings of the real run that would reach other people, change how this
 * one ends, or make it wait for others. */
static void make_environment(const struct sandbox *sandbox, const struct instance *instance,
			     unsigned start, uint32_t member, struct words *words)
{
	// clang-format off
	static char *const fixed[] = {
		"AWS_EC2_METADATA_DISABLED=false", "PYTHONUNBUFFERED=1", "REPRIEVE_NOTIFY=", "REPRIEVE_METRICS=",
		"REPRIEVE_METRICS_FILE=", "REPRIEVE_DEADLINE=", "REPRIEVE_EXIT_POLICY=", "REPRIEVE_RESTORE=",
		"REPRIEVE_GANG=", "REPRIEVE_MEMBER=",
	};
	// clang-format on
	uint32_t gang = sandbox->options->gang;
	const char *name, *value;

	add_copies(words, fixed, sizeof(fixed) / sizeof(fixed[0]));
	add_word(words, text_format("PWD=%s", instance->directory));
	if (instance->mock) {
		mock_environment(instance->mock, &name, &value);
		add_word(words, text_format("%s=%s", name, value));
	}
	/* As Kubeflow's operator starts torchrun on several machines. */
	if (gang > 0) {
		add_word(words, text_format("REPRIEVE_LAUNCH=%s/%u", sandbox->job, start));
		add_word(words, text_format("PET_NNODES=%" PRIu32, gang));
		add_word(words, text_format("PET_NODE_RANK=%" PRIu32, member));
		add_word(words, text_copy("PET_MASTER_ADDR=127.0.0.1"));
		add_word(words, text_format("PET_MASTER_PORT=%u", sandbox->port));
	}
}

int sandbox_start(struct sandbox *sandbox, struct instance *instance, unsigned start,
		  uint32_t member, struct err *err)
{
	const struct scenario_options *options = sandbox->options;
	auto_free char *members = text_format("%" PRIu32, options->gang);
	auto_free char *which = text_format("%" PRIu32, member);
	auto_free char *job =
		text_format("%s%s", sandbox->job, start || options->of_trace ? "" : "-undisturbed");
	auto_(words_release) struct words arguments = {0}, environment = {0};
	bool chooses = start == 0 || !options->notice_chosen;
	/* These win over the user's. A drill inside a batch job or a pod must not requeue that, nor
	 * write its termination message; and what starts it may have started it on several
	 * machines, or as an element of an array: with a member the name is as it is. */
	// clang-format off
	char *ours[] = {
		"--store", sandbox->store, "--job", job, "--events", instance->event_log.path,
		"--checkpoint-dir", (char *)options->checkpoint_dir, "--requeue", "off", "--termination-log", "",
		"--gang", options->gang > 0 ? members : "off", "--member", which,
		chooses ? "--notice" : NULL, (char *)(start ? mock_clouds[options->cloud].name : "none"),
	};
	// clang-format on

	if (!file_exists(instance->directory) &&
	    copy_directory(sandbox, instance->directory, "", NULL, err) < 0)
		return -1;
	add_copies(&arguments, (char *[]){"reprieve", "run"}, 2);
	add_copies(&arguments, options->run_options, options->run_option_count);
	add_copies(&arguments, ours, sizeof(ours) / sizeof(ours[0]));
	if (*sandbox->grace)
		add_copies(&arguments, (char *[]){"--grace", sandbox->grace}, 2);
	add_word(&arguments, text_copy("--"));
	add_copies(&arguments, options->command, SIZE_MAX);
	make_environment(sandbox, instance, start, member, &environment);
	return instance_start(instance, "/proc/self/exe", arguments.items, environment.items,
			      options->inherited, err);
}

int sandbox_start_lane(struct sandbox *sandbox, struct instance *instance, enum lane_kind kind,
		       int64_t notice_ms, struct err *err)
{
	const struct scenario_options *options = sandbox->options;
	auto_(words_release) struct words arguments = {0}, environment = {0};

	snprintf(sandbox->grace, sizeof(sandbox->grace), "%g",
		 notice_ms > 0 ? (double)notice_ms / 1000 : 30);
	if (kind == LANE_REPRIEVE)
		return sandbox_start(sandbox, instance, 0, 0, err);
	if (copy_directory(sandbox, instance->directory, "", NULL, err) < 0)
		return -1;
	if (kind == LANE_SCRIPT) {
		add_copies(&arguments, (char *[]){"bash", "-c", (char *)options->script, "bash"},
			   4);
		add_word(&environment, text_format("STORE=%s/copies", sandbox->scratch));
		add_word(&environment, text_format("CHECKPOINTS=%s", options->checkpoint_dir));
		add_word(&environment, text_format("SAVE_SIGNAL=%s", options->save_signal));
		add_word(&environment, text_format("NOTICE=%.0f", strtod(sandbox->grace, NULL)));
		add_word(&environment, text_copy("EVERY=1"));
	}
	add_copies(&arguments, options->command, SIZE_MAX);
	make_environment(sandbox, instance, 0, 0, &environment);
	return instance_start(instance, kind == LANE_SCRIPT ? "bash" : options->command[0],
			      arguments.items, environment.items, options->inherited, err);
}

/* --- may this command be drilled? --- */

/* Whether the word has this path in it: not one below, which may be a file that is only read, nor
 * one that merely begins so. */
static bool names_path(const char *word, const char *path)
{
	for (const char *at = word; (at = strstr(at, path)); at++) {
		const char *rest = at + strlen(path);

		/* "/mnt/home/..." is not "/home/...". */
		if (at > word && (isalnum((unsigned char)at[-1]) || strchr("._-/", at[-1])))
			continue;
		rest += strspn(rest, "/");
		if (*rest == '\0' || (!isalnum((unsigned char)*rest) && !strchr("._-", *rest)))
			return true;
	}
	return false;
}

int drilled_options_check(char *const *argv, struct err *err)
{
	static const char *const names[] = {"--gang",    "--member",       "--notify",
					    "--metrics", "--metrics-file", "--deadline",
					    "--restore", "--exit-policy"};

	for (; *argv && !text_equal(*argv, "--"); argv++)
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			if (!text_starts(*argv, names[i]) ||
			    !strchr("=", (*argv)[strlen(names[i])]))
				continue;
			return err_set(
				err, ERR_INVALID, "run: %s has no place in a drill%s", names[i],
				i < 2 ? ", which starts all members: reprieve drill --gang N -- ..."
				      : ": leave it out");
		}
	return 0;
}

/* A machine shows the current directory at another place: what is found from here by "../" is not
 * found from there. And a job that is told of the checkpoints by an absolute path would save into
 * the user's own, and the machine's stay empty. */
int drilled_command_check(char *const *command, const char *written, const char *relative,
			  const char *here, struct err *err)
{
	auto_free char *own = text_format("%s/%s", here ? here : "", relative);

	for (; *command; command++) {
		const char *value = **command == '-' ? strchr(*command, '=') : NULL;
		const char *path = value ? value + 1 : *command;
		bool leads_out = text_starts(path, "../") && file_exists(path);
		auto_free char *whole = leads_out ? file_absolute(path) : NULL;

		if (leads_out)
			return err_set(err, ERR_INVALID,
				       "'%s' leads out of the current directory, which the "
				       "machines of a "
				       "drill see at another place: write %s",
				       *command, whole);
		if (names_path(*command, own) || (*written == '/' && names_path(*command, written)))
			return err_set(err, ERR_INVALID,
				       "'%s' names your own checkpoints, and each machine of a "
				       "drill has its own: write %s there, which is relative",
				       *command, relative);
	}
	return 0;
}
