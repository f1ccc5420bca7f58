#include "sandbox.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "linked_directory.h"
#include "shim/shim.h"

#include <errno.h>
#include <stdlib.h>
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

int sandbox_make(struct sandbox *sandbox, const struct scenario_options *options, struct err *err)
{
	*sandbox = (struct sandbox){.from = getcwd(NULL, 0)};
	if (!sandbox->from)
		return err_os(err, errno, "working directory");
	if (make_scratch(sandbox, options->directory, err) < 0)
		return -1;
	sandbox->store = options->store ? text_copy(options->store)
					: text_format("file://%s/store", sandbox->scratch);
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
	*sandbox = (struct sandbox){0};
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

int sandbox_start(const struct sandbox *sandbox, const struct scenario_options *options,
		  struct instance *instance, const char *job, const char *notice,
		  const char *variable, struct err *err)
{
	const char *left_out[] = {options->checkpoint_dir, options->compare};
	/* A drill inside a batch job or a pod must not requeue that, nor write its termination
	 * message. */
	const char *ours[] = {
		"--store",
		sandbox->store,
		"--job",
		job,
		"--events",
		instance->event_log,
		"--checkpoint-dir",
		options->checkpoint_dir,
		"--requeue",
		"off",
		"--termination-log",
		"",
		"--notice",
		notice,
	};
	size_t count = sizeof(ours) / sizeof(ours[0]) - (notice ? 0 : 2);
	auto_free char **arguments = run_arguments(options, ours, count);
	auto_free char *where = text_format("PWD=%s", instance->directory);
	auto_free char *files = text_format(SHIM_ENV_ACCESS_LOG "=%s", instance->files);
	/* Laptops often disable the metadata service, so that tools do not wait for one. Here there
	 * is one. */
	const char *variables[] = {where, files, "AWS_EC2_METADATA_DISABLED=false",
				   /* A line tells the time of a step only if it comes at once. */
				   "PYTHONUNBUFFERED=1",
				   /* Settings of the real run that would reach other people, or
				    * change how this one ends. */
				   "REPRIEVE_NOTIFY=", "REPRIEVE_METRICS=",
				   "REPRIEVE_METRICS_FILE=", "REPRIEVE_DEADLINE=",
				   "REPRIEVE_EXIT_POLICY=", "REPRIEVE_RESTORE=", variable, NULL};

	if (linked_directory_make(sandbox->from, instance->directory, sandbox->scratch, left_out,
				  options->compare ? 2 : 1, err) < 0 ||
	    instance_start(instance, arguments, variables, options->inherited, err) < 0)
		return err_wrap(err, "machine %u", instance->number);
	return 0;
}
