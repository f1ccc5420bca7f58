#include "sandbox.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "machine_directory.h"
#include "shim/shim.h"
#include "storage/storage.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

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

/* All have the same, or one would lack what another has: half of what is free, for all together. */
static uint64_t room_of_machine(const char *scratch, const struct scenario_options *options)
{
	uint64_t machines =
		options->members > 0
			? (options->compare ? 2 : 1) * (uint64_t)options->members + options->rounds
			: (options->compare ? 2 : 1) + (uint64_t)options->rounds;
	struct statvfs about;

	if (statvfs(scratch, &about) < 0)
		return 0;
	return (uint64_t)about.f_bavail * about.f_frsize / 2 / machines;
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
	sandbox->room = room_of_machine(sandbox->scratch, options);
	sandbox->store = options->store ? text_copy(options->store)
					: text_format("file://%s/store", sandbox->scratch);
	if (!options->store && make_store(sandbox, err) < 0)
		return -1;
	/* The store may be the user's own: the drill must not claim attempts of a real job in it.
	 */
	sandbox->job =
		text_format("drill-%lld-%d", (long long)(clock_wall_ms() / 1000), (int)getpid());
	return 0;
}

void sandbox_release(struct sandbox *sandbox)
{
	free(sandbox->scratch);
	free(sandbox->from);
	free(sandbox->store);
	free(sandbox->job);
	tree_look_release(&sandbox->users);
	shared_directories_release(&sandbox->directories);
	*sandbox = (struct sandbox){0};
}

/* The same path without links, relative to the user's directory. NULL: it is not in there. */
static char *resolved_below(const struct sandbox *sandbox, const char *path)
{
	auto_free char *whole = path ? text_format("%s/%s", sandbox->from, path) : NULL;
	auto_free char *real = whole ? file_absolute(whole) : NULL;

	return real ? machine_directory_below(real, sandbox->from) : NULL;
}

/* NULL: it is not on this machine. */
static const char *store_path(const struct sandbox *sandbox)
{
	static const char file[] = "file://";

	return text_starts(sandbox->store, file) ? sandbox->store + strlen(file) : NULL;
}

/* The drill's own directories may lie in the user's. */
static int look_at_users(const struct sandbox *sandbox, const struct scenario_options *options,
			 struct tree_look *look, struct err *err)
{
	const char *without[] = {sandbox->scratch, store_path(sandbox), NULL};
	const char *within[5] = {options->checkpoint_dir};
	const char *paths[] = {options->compare, resolved_below(sandbox, options->checkpoint_dir),
			       resolved_below(sandbox, options->compare)};
	size_t count = 1;
	int result;

	for (size_t i = 0; i < 3; i++)
		if (paths[i])
			within[count++] = paths[i];
	result = tree_look_take(look, sandbox->from, without, within, err);
	free((char *)paths[1]);
	free((char *)paths[2]);
	return result;
}

int sandbox_look(struct sandbox *sandbox, const struct scenario_options *options, struct err *err)
{
	const char *written[] = {sandbox->scratch, store_path(sandbox), NULL};

	if (look_at_users(sandbox, options, &sandbox->users, err) < 0)
		return -1;
	shared_directories_find(&sandbox->directories, &sandbox->users, sandbox->from, written);
	return 0;
}

static void look_at_shared(struct sandbox *sandbox)
{
	auto_free char *found = shared_directories_find_change(&sandbox->directories);
	auto_free char *below = found ? machine_directory_below(found, sandbox->from) : NULL;

	if (!found)
		return;
	if (!sandbox->shared[0])
		sandbox->shared_way = USERS_SHARED;
	written_add(below ? below : found, sandbox->shared);
}

bool sandbox_look_again(struct sandbox *sandbox, const struct scenario_options *options)
{
	auto_(tree_look_release) struct tree_look now = {0};
	size_t before = strlen(sandbox->shared);

	if (look_at_users(sandbox, options, &now, NULL) == 0)
		written_to_users_own(&sandbox->users, &now, sandbox->shared, &sandbox->shared_way);
	look_at_shared(sandbox);
	return strlen(sandbox->shared) > before;
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

/* Our options come after the user's, so that they win. The strings are borrowed; the caller frees
 * the array. */
static char **run_arguments(const struct scenario_options *options, const char *const *ours,
			    size_t count)
{
	size_t most = 3 + options->run_option_count + count, used = 0;
	char **arguments;

	for (size_t i = 0; options->command[i]; i++)
		most++;
	arguments = memory_grow(NULL, most + 1, sizeof(*arguments));
	arguments[used++] = "reprieve";
	arguments[used++] = "run";
	for (size_t i = 0; i < options->run_option_count; i++)
		arguments[used++] = options->run_options[i];
	for (size_t i = 0; i < count; i++)
		arguments[used++] = (char *)ours[i];
	arguments[used++] = "--";
	for (size_t i = 0; options->command[i]; i++)
		arguments[used++] = options->command[i];
	arguments[used] = NULL;
	return arguments;
}

/* What replaces the environment's; owned, ends with NULL. */
struct variables {
	char *pairs[24];
	size_t count;
};

static void add_variable(struct variables *variables, char *pair)
{
	variables->pairs[variables->count++] = pair;
}

static void variables_release(struct variables *variables)
{
	for (size_t i = 0; i < variables->count; i++)
		free(variables->pairs[i]);
}
AUTO(struct variables, variables_release);

static void add_variables(struct variables *variables, const struct instance *instance,
			  const struct sandbox_start *start)
{
	static const char *const fixed[] =
		{/* Laptops often disable the metadata service, so that tools do not wait for one.
		  * Here there is one. */
		 "AWS_EC2_METADATA_DISABLED=false",
		 /* A line tells the time of a step only if it comes at once. */
		 "PYTHONUNBUFFERED=1",
		 /* Settings of the real run that would reach other people, change how this one
		  * ends, or make it wait for others. */
		 "REPRIEVE_NOTIFY=", "REPRIEVE_METRICS=", "REPRIEVE_METRICS_FILE=",
		 "REPRIEVE_DEADLINE=", "REPRIEVE_EXIT_POLICY=", "REPRIEVE_RESTORE=",
		 "REPRIEVE_GANG=", "REPRIEVE_MEMBER="};

	add_variable(variables, text_format("PWD=%s", instance->directory));
	add_variable(variables, text_format(SHIM_ENV_ACCESS_LOG "=%s", instance->files));
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		add_variable(variables, text_copy(fixed[i]));
	if (start->variable)
		add_variable(variables, text_copy(start->variable));
}

/* As Kubeflow's operator starts torchrun on several machines. */
static void add_gang_variables(struct variables *variables, const struct scenario_options *options,
			       const struct instance *instance, const struct sandbox_start *start)
{
	add_variable(variables, text_format("REPRIEVE_LAUNCH=%s/%u", start->job, start->start));
	add_variable(variables, text_format("PET_NNODES=%" PRIu32, options->members));
	add_variable(variables, text_format("PET_NODE_RANK=%u", instance->number));
	add_variable(variables, text_copy("PET_MASTER_ADDR=127.0.0.1"));
	add_variable(variables, text_format("PET_MASTER_PORT=%u", start->port));
}

static int make_directory(struct sandbox *sandbox, const struct scenario_options *options,
			  const struct instance *instance, struct err *err)
{
	auto_free char *whole = text_format("%s/%s", sandbox->from, options->checkpoint_dir);
	auto_free char *real = file_absolute(whole);
	auto_free char *beside = text_format("%s.reprieve", options->checkpoint_dir);
	auto_free char *beside_real = text_format("%s.reprieve", real);
	const char *excluded[] = {options->checkpoint_dir, beside, beside_real, options->compare};
	bool first = !sandbox->left_out[0];

	if (machine_directory_make(&sandbox->users, sandbox->from, instance->directory, excluded,
				   options->compare ? 4 : 3, sandbox->room, sandbox->left_out,
				   err) < 0)
		return -1;
	if (first && sandbox->left_out[0])
		console_warn(options->console, instance,
			     "the machines do not have %s: a copy finds no room in %s (set TMPDIR "
			     "or "
			     "--directory to a place with more), or would hold itself",
			     sandbox->left_out, sandbox->scratch);
	return 0;
}

int sandbox_start(struct sandbox *sandbox, const struct scenario_options *options,
		  struct instance *instance, const struct sandbox_start *start, struct err *err)
{
	const char *nothing[] = {NULL};
	auto_free char *members = text_format("%" PRIu32, options->members);
	auto_free char *member = text_format("%u", instance->number);
	/* A drill inside a batch job or a pod must not requeue that, nor write its termination
	 * message. */
	const char *ours[18] = {
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
	};
	size_t count = 12;
	auto_(variables_release) struct variables variables = {0};
	auto_free char **arguments = NULL;

	add_variables(&variables, instance, start);
	if (start->notice) {
		ours[count++] = "--notice";
		ours[count++] = start->notice;
	}
	/* What starts the drill may have started it on several machines. */
	ours[count++] = "--gang";
	ours[count++] = options->members > 0 ? members : "off";
	if (options->members > 0) {
		ours[count++] = "--member";
		ours[count++] = member;
		add_gang_variables(&variables, options, instance, start);
	}
	arguments = run_arguments(options, ours, count);
	if ((!start->has_directory && make_directory(sandbox, options, instance, err) < 0) ||
	    tree_look_take(&instance->look, instance->directory, nothing, nothing, err) < 0 ||
	    instance_start(instance, arguments, (const char *const *)variables.pairs,
			   sandbox->directories.read_only ? &sandbox->directories : NULL,
			   options->inherited, err) < 0)
		return err_wrap(err, "%s", instance->label);
	return 0;
}
