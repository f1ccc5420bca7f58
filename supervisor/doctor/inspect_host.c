#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/program.h"
#include "base/text.h"
#include "check_host.h"
#include "cloud/cloud.h"
#include "control/control.h"
#include "doctor.h"
#include "process/process.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define POLL_MS 20
#define SHIM_MS 5000

static void ignore_notice(void *arg, const struct notice *notice)
{
	(void)arg, (void)notice;
}

static void ignore_health(void *arg, const struct source_state *state)
{
	(void)arg, (void)state;
}

static bool is_worth_waiting(const struct source_state *states, size_t count, int64_t waited_ms)
{
	for (size_t i = 0; i < count && i < CLOUD_SOURCES_MOST; i++)
		if (waited_ms < check_host_source_wait_ms(&states[i]))
			return true;
	return false;
}

/* Waits until each source can be judged. Returns how many there are; with an error 0. */
static size_t wait_for_sources(const char *notice, struct source_state states[CLOUD_SOURCES_MOST],
			       struct err *err)
{
	struct cloud_options options = {
		.sources = notice,
		.notice = ignore_notice,
		.health = ignore_health,
	};
	int64_t began_ms = clock_monotonic_ms();
	struct cloud_watch *watch;
	size_t count;

	*err = (struct err){0};
	if (cloud_watch_start(&options, &watch, err) < 0)
		return 0;
	for (;;) {
		struct timespec pause = {.tv_nsec = POLL_MS * 1000000L};

		count = cloud_watch_states(watch, states, CLOUD_SOURCES_MOST);
		if (!is_worth_waiting(states, count, clock_monotonic_ms() - began_ms))
			break;
		nanosleep(&pause, NULL);
	}
	cloud_watch_stop(watch);
	return count < CLOUD_SOURCES_MOST ? count : CLOUD_SOURCES_MOST;
}

/* Our environment with these two variables ("NAME=value") replaced. The strings are borrowed. */
static char **environment_with(char *preload, char *sanitizer)
{
	size_t count = 0, kept = 0;
	char **environment;

	while (environ[count])
		count++;
	environment = memory_new((count + 3) * sizeof(*environment));
	for (size_t i = 0; i < count; i++)
		if (!text_starts(environ[i], "LD_PRELOAD=") &&
		    !text_starts(environ[i], "ASAN_OPTIONS="))
			environment[kept++] = environ[i];
	environment[kept++] = preload;
	environment[kept++] = sanitizer;
	environment[kept] = NULL;
	return environment;
}

/* The loader's complaint when a program starts with the shim; NULL: none. The program is this one,
 * because a container image may have no other. The caller frees. */
static char *shim_error(const char *shim)
{
	char *const argv[] = {(char *)"/proc/self/exe", (char *)"--version", NULL};
	auto_free char *list = NULL, *said = NULL;
	struct err err;

	if (ld_preload_compose(NULL, shim, &list, &err) < 0)
		return text_copy(err.text);
	auto_free char *preload = text_format("LD_PRELOAD=%s", list);
	auto_free char *quiet = ld_preload_sanitizer_options(getenv("ASAN_OPTIONS"));
	auto_free char *sanitizer = text_format("ASAN_OPTIONS=%s", quiet);
	auto_free char **environment = environment_with(preload, sanitizer);
	if (program_output_with(argv, environment, SHIM_MS, &said, &err) < 0)
		return text_copy(err.text);
	/* If the loader cannot load the shim, it prints a line before ours and continues. */
	if (text_starts(said, "reprieve "))
		return NULL;
	said[strcspn(said, "\n")] = '\0';
	return steal(&said);
}

/* The first line of a small file; NULL: it cannot be read. The caller frees. */
static char *read_first_line(const char *path)
{
	auto_(bytes_release) struct bytes text = {.limit = 4096};
	const uint8_t *end;

	if (file_read(path, &text, NULL) < 0 || text.size == 0)
		return NULL;
	end = memchr(text.data, '\n', text.size);
	return text_copy_n((const char *)text.data, end ? (size_t)(end - text.data) : text.size);
}

void inspect_host(const struct doctor_options *options, struct check_list *check_list)
{
	struct source_state sources[CLOUD_SOURCES_MOST];
	struct err notice_error, subreaper_error;
	auto_free char *watches = read_first_line("/proc/sys/fs/inotify/max_user_watches");
	auto_free char *shim = NULL, *shim_said = NULL;
	struct proc_stat init;
	struct host_facts facts = {
		.notice = options->notice,
		.sources = sources,
		.init = proc_read_stat(1, &init) ? init.comm : NULL,
		.kubernetes = getenv("KUBERNETES_SERVICE_HOST") != NULL,
		.grace_ms = options->grace_ms,
		.watches = watches ? strtoll(watches, NULL, 10) : -1,
		.transfer_ms = options->transfer_ms,
	};

	facts.source_count = wait_for_sources(options->notice, sources, &notice_error);
	facts.notice_error = notice_error.text[0] ? notice_error.text : NULL;
	if (ld_preload_find(&shim, NULL) == 0)
		shim_said = shim_error(shim);
	facts.shim_error = shim_said;
	facts.shim = shim;
	if (child_prepare(&subreaper_error) < 0)
		facts.subreaper_error = subreaper_error.text;
	check_host(&facts, check_list);
}
