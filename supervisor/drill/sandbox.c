#include "sandbox.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

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

/* What a machine has not: its own state, the drill's, and what the user says. Absolute, owned. */
struct left_out {
	char *paths[2 * (EXCLUDED_MOST + 5)];
	size_t count;
};

static void left_out_release(struct left_out *out)
{
	for (size_t i = 0; i < out->count; i++)
		free(out->paths[i]);
}
AUTO(struct left_out, left_out_release);

/* By its name, and by what that leads to. */
static void leave_out(struct left_out *out, const char *from, const char *path, const char *ending)
{
	auto_free char *whole =
		text_format("%s%s%s", *path == '/' ? "" : from, *path == '/' ? "" : "/", path);
	auto_free char *real = file_absolute(whole);

	out->paths[out->count++] = text_format("%s%s", whole, ending);
	out->paths[out->count++] = text_format("%s%s", real ? real : whole, ending);
}

static void find_left_out(const struct sandbox *sandbox, const struct scenario_options *options,
			  struct left_out *out)
{
	static const char file[] = "file://";

	leave_out(out, sandbox->from, options->checkpoint_dir, "");
	leave_out(out, sandbox->from, options->checkpoint_dir, ".reprieve");
	leave_out(out, "", sandbox->scratch, "");
	if (options->compare)
		leave_out(out, sandbox->from, options->compare, "");
	if (sandbox->store && text_starts(sandbox->store, file))
		leave_out(out, sandbox->from, sandbox->store + strlen(file), "");
	for (size_t i = 0; options->excluded[i]; i++)
		leave_out(out, sandbox->from, options->excluded[i], "");
}

/* 'o': it is left out; 'w': it holds what is; 'c': all of it is copied. */
static char what_becomes(const struct left_out *out, const char *path)
{
	size_t length = strlen(path);
	char becomes = 'c';

	for (size_t i = 0; i < out->count; i++) {
		if (text_equal(out->paths[i], path))
			return 'o';
		if (text_starts(out->paths[i], path) && out->paths[i][length] == '/')
			becomes = 'w';
	}
	return becomes;
}

/* In bytes on the disk, without what is left out. */
static uint64_t size_of_copy(const char *from, const struct left_out *out)
{
	auto_(walk_close) struct walk walk;
	uint64_t bytes = 0;

	walk_open(&walk, from, 0);
	while (walk_next(&walk)) {
		auto_free char *path = text_format("%s/%s", from, walk.path);
		struct stat about;

		if (what_becomes(out, path) == 'o')
			continue;
		if (walk_is_directory(&walk))
			walk_enter(&walk);
		else if (fstatat(walk.directory, walk.name, &about, AT_SYMLINK_NOFOLLOW) == 0)
			bytes += (uint64_t)about.st_blocks * 512;
	}
	return bytes;
}

/* cp of coreutils or busybox. */
static int copy_whole(const struct scenario_options *options, const char *from, const char *to,
		      int *signal, struct err *err)
{
	char *argv[] = {"cp", "-a", "--reflink=auto", "--", (char *)from, (char *)to, NULL};
	posix_spawnattr_t attributes;
	sigset_t none;
	int failed, status = 0;
	pid_t pid;

	sigemptyset(&none);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attributes, &none);
	failed = posix_spawnp(&pid, "cp", NULL, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	if (failed)
		return err_os(err, failed, "cp");
	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (sandbox_wait_turn(options, signal, err) == 0)
			continue;
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		return -1;
	}
	if (status != 0)
		return err_set(err, ERR_NO_SPACE,
			       "%s cannot be copied to %s (cp says above why): --exclude it, if "
			       "the "
			       "job does not need it",
			       from, to);
	return 0;
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

static int copy_directory(const struct scenario_options *options, const char *root, const char *to,
			  const char *below, const struct left_out *out, int *signal,
			  struct err *err)
{
	auto_free char *from = text_format("%s%s", root, below);
	auto_free char *target = text_format("%s%s", to, below);
	auto_(walk_close) struct walk walk;

	if (file_make_directories(target, 0777, err) < 0)
		return -1;
	if (walk_open(&walk, from, 0) < 0)
		return err_os(err, errno, "%s", from);
	while (walk_next(&walk)) {
		auto_free char *path = text_format("%s/%s", from, walk.name);
		auto_free char *name = text_format("%s/%s", below, walk.name);
		auto_free char *whole = text_format("%s/%s", target, walk.name);
		char becomes = what_becomes(out, path), link[2];
		int failed = 0;

		if (becomes != 'o' && walk_read_link(&walk, link, sizeof(link)) >= 0)
			failed = copy_link(root, to, path, whole);
		else if (becomes == 'c')
			failed = copy_whole(options, path, whole, signal, err);
		else if (becomes == 'w' && walk_is_directory(&walk))
			failed = copy_directory(options, root, to, name, out, signal, err);
		if (failed < 0)
			return -1;
	}
	return 0;
}

/* --- the whole --- */

static int make_scratch(struct sandbox *sandbox, const char *directory, struct err *err)
{
	const char *temporary = getenv("TMPDIR");

	if (directory) {
		if (!file_directory_is_empty(directory))
			return err_set(err, ERR_EXISTS,
				       "--directory %s is not an empty directory: name a new one",
				       directory);
		if (file_make_directories(directory, 0777, err) < 0)
			return err_wrap(err, "--directory %s", directory);
		sandbox->scratch = file_absolute(directory);
		return 0;
	}
	auto_free char *name = text_format("%s/reprieve-drill-XXXXXX",
					   temporary && *temporary == '/' ? temporary : "/tmp");
	if (!mkdtemp(name))
		return err_os(err, errno, "cannot make %s", name);
	sandbox->scratch = file_absolute(name);
	return 0;
}

/* Half of what is free is for all machines together, of which each has all. */
static int check_room(const struct sandbox *sandbox, const struct scenario_options *options,
		      struct err *err)
{
	auto_(left_out_release) struct left_out out = {0};
	uint64_t members = options->gang > 0 ? options->gang : 1;
	uint64_t machines = members * (options->compare ? 2 : 1) + options->rounds;
	uint64_t bytes;
	char needed[32], room[32];
	struct statvfs about;

	find_left_out(sandbox, options, &out);
	bytes = size_of_copy(sandbox->from, &out);
	if (statvfs(sandbox->scratch, &about) < 0)
		return err_os(err, errno, "%s", sandbox->scratch);
	if (bytes <= (uint64_t)about.f_bavail * about.f_frsize / 2 / machines)
		return 0;
	return err_set(err, ERR_NO_SPACE,
		       "the current directory is too large: %s for each of %" PRIu64
		       " machines, and %s has %s. --exclude what the job does not need, or name "
		       "another place by TMPDIR or --directory",
		       text_bytes(bytes, needed, sizeof(needed)), machines, sandbox->scratch,
		       text_bytes((uint64_t)about.f_bavail * about.f_frsize, room, sizeof(room)));
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
	*sandbox = (struct sandbox){.from = getcwd(NULL, 0)};
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
	return check_room(sandbox, options, err);
}

void sandbox_release(struct sandbox *sandbox)
{
	free(sandbox->scratch);
	free(sandbox->from);
	free(sandbox->store);
	free(sandbox->job);
	*sandbox = (struct sandbox){0};
}

/* How often the event log and the clock are read. */
#define POLL_MS 10

int sandbox_wait_turn(const struct scenario_options *options, int *signal, struct err *err)
{
	const struct timespec turn = {.tv_nsec = POLL_MS * 1000000};
	sigset_t signals;
	int received;

	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGQUIT);
	if (options->timeout_ms > 0 &&
	    clock_monotonic_ms() >= options->console->began_ms + options->timeout_ms) {
		*signal = SIGALRM;
		return err_set(err, ERR_CANCELLED, "its time is over");
	}
	received = sigtimedwait(&signals, NULL, &turn);
	if (received <= 0 || received == SIGCHLD)
		return 0;
	/* sigtimedwait() also returns signals that are ignored, such as SIGHUP under nohup. */
	if (sigismember(&options->inherited->ignored, received) == 1)
		return 0;
	*signal = received;
	return err_set(err, ERR_CANCELLED, "ended by a signal");
}

int sandbox_start_mock(const struct scenario_options *options, struct mock **mock, char **variable,
		       struct err *err)
{
	const struct mock_options mock_options = {
		.cloud = options->cloud,
		.notice_ms = options->notice_ms,
	};
	const char *name, *value;

	if (mock_start(&mock_options, mock, err) < 0)
		return err_wrap(err, "metadata server");
	mock_environment(*mock, &name, &value);
	*variable = text_format("%s=%s", name, value);
	return 0;
}

/* What replaces the environment's; owned. Laptops often disable the metadata service, so that tools
 * do not wait for one; a line tells the time of a step only if it comes at once. The last ones are
 * settings of the real run that would reach other people, change how this one ends, or make it wait
 * for others. */
static void make_variables(const struct scenario_options *options, const struct instance *instance,
			   const struct sandbox_start *start, char *variables[24])
{
	static const char *const fixed[] = {
		"AWS_EC2_METADATA_DISABLED=false",
		"PYTHONUNBUFFERED=1",
		"REPRIEVE_NOTIFY=",
		"REPRIEVE_METRICS=",
		"REPRIEVE_METRICS_FILE=",
		"REPRIEVE_DEADLINE=",
		"REPRIEVE_EXIT_POLICY=",
		"REPRIEVE_RESTORE=",
		"REPRIEVE_GANG=",
		"REPRIEVE_MEMBER=",
	};
	size_t count = 0;

	for (; count < sizeof(fixed) / sizeof(fixed[0]); count++)
		variables[count] = text_copy(fixed[count]);
	variables[count++] = text_format("PWD=%s", instance->directory);
	if (start->variable)
		variables[count++] = text_copy(start->variable);
	if (options->gang == 0)
		return;
	/* As Kubeflow's operator starts torchrun on several machines. */
	variables[count++] = text_format("REPRIEVE_LAUNCH=%s/%u", start->job, start->start);
	variables[count++] = text_format("PET_NNODES=%" PRIu32, options->gang);
	variables[count++] = text_format("PET_NODE_RANK=%u", start->member);
	variables[count++] = text_copy("PET_MASTER_ADDR=127.0.0.1");
	variables[count++] = text_format("PET_MASTER_PORT=%u", start->port);
}

/* The user's, then ours, so that these win. The strings are borrowed; the caller frees the array.
 */
static char **make_arguments(const struct scenario_options *options, const char *const *ours)
{
	size_t count = 0, used = 0;
	char **arguments;

	while (options->command[count])
		count++;
	arguments = memory_grow(NULL, options->run_option_count + count + 32, sizeof(*arguments));
	arguments[used++] = "reprieve";
	arguments[used++] = "run";
	for (size_t i = 0; i < options->run_option_count; i++)
		arguments[used++] = options->run_options[i];
	while (*ours)
		arguments[used++] = (char *)*ours++;
	arguments[used++] = "--";
	memcpy(arguments + used, options->command, (count + 1) * sizeof(*arguments));
	return arguments;
}

static int make_directory(const struct sandbox *sandbox, const struct scenario_options *options,
			  const char *to, int *signal, struct err *err)
{
	auto_(left_out_release) struct left_out out = {0};

	find_left_out(sandbox, options, &out);
	return copy_directory(options, sandbox->from, to, "", &out, signal, err);
}

int sandbox_start(struct sandbox *sandbox, const struct scenario_options *options,
		  struct instance *instance, const struct sandbox_start *start, int *signal,
		  struct err *err)
{
	auto_free char *members = text_format("%" PRIu32, options->gang);
	auto_free char *member = text_format("%u", start->member);
	auto_free char **arguments = NULL;
	char *variables[24] = {NULL};
	int started;
	/* A drill inside a batch job or a pod must not requeue that, nor write its termination
	 * message; and what starts it may have started it on several machines, or as an element of
	 * an array: with a member the name is as it is. */
	const char *ours[] = {
		"--store",
		sandbox->store,
		"--job",
		start->job,
		"--events",
		instance->event_log,
		"--checkpoint-dir",
		options->checkpoint_dir,
		"--requeue",
		"off",
		"--termination-log",
		"",
		"--gang",
		options->gang > 0 ? members : "off",
		"--member",
		member,
		start->notice ? "--notice" : NULL,
		start->notice,
		NULL,
	};

	if (!start->has_directory &&
	    make_directory(sandbox, options, instance->directory, signal, err) < 0)
		return err_wrap(err, "%s", instance->label);
	arguments = make_arguments(options, ours);
	make_variables(options, instance, start, variables);
	started = instance_start(instance, arguments, (const char *const *)variables,
				 options->inherited, err);
	for (size_t i = 0; variables[i]; i++)
		free(variables[i]);
	return started < 0 ? err_wrap(err, "%s", instance->label) : 0;
}
