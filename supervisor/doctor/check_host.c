#include "doctor.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/program.h"
#include "base/text.h"
#include "control/control.h"
#include "process/process.h"
#include "telemetry/telemetry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WATCHES_FEW 1024
/* Two polls of a metadata service that accepts and does not reply. */
#define METADATA_WAIT_MS 10000
#define POLL_MS 20
#define SHIM_MS 5000

// clang-format off
static const struct check_finding
	armed = {"notice", CHECK_OK, "$1", ""},
	no_cloud = {"notice", CHECK_OK, "no cloud announces anything here (none answers)", ""},
	slow_azure = {"notice", CHECK_WARN, "$1", "try again: the first reply of Azure may take two minutes"},
	bad_notice = {"notice", CHECK_FAIL, "$1", "fix --notice"},
	no_source = {"notice", CHECK_OK, "no notice source is watched (--notice $1): only SIGTERM announces a preemption", ""},
	at_home = {"notice", CHECK_OK, "this machine is not in a known cloud: only SIGTERM announces a preemption", ""},
	no_shim = {"shim", CHECK_WARN, "the preload library is not found: completeness is judged from the directory alone",
		"install libreprieve-shim.so beside reprieve, or name it in REPRIEVE_SHIM_PATH"},
	bad_shim = {"shim", CHECK_WARN, "$1 does not load: $2", "use the one that was built for this system's C library"},
	shim = {"shim", CHECK_OK, "$1 loads", ""},
	no_subreaper = {"init", CHECK_WARN, "reprieve cannot reap the job's orphans: $1", "make it PID 1 of the container"},
	shell_is_init = {"init", CHECK_WARN, "process 1 is $1: a shell does not forward SIGTERM, so the job does not learn that the container is stopped",
		"write the entrypoint as a list, [\"reprieve\", \"run\", \"--\", ...], or `exec reprieve run` in the script"},
	init = {"init", CHECK_OK, "reprieve reaps the job's orphans; process 1 is $1", ""},
	few_watches = {"inotify", CHECK_WARN, "inotify can watch $1 directories; larger trees are polled instead",
		"sysctl fs.inotify.max_user_watches=65536"},
	short_grace = {"grace", CHECK_WARN, "$1 from SIGTERM to SIGKILL (--grace), but uploading a whole checkpoint (--size) takes about $2",
		"raise --grace and the time-out of whoever sends the SIGKILL (terminationGracePeriodSeconds); or save often (--every)"},
	grace_fits = {"grace", CHECK_OK, "$1 from SIGTERM to SIGKILL (--grace)", ""},
	grace_of_pod = {"grace", CHECK_OK, "$1 from SIGTERM to SIGKILL (--grace); terminationGracePeriodSeconds must be longer (it cannot be read from here)", ""};

static const char *fix_of_source(const struct source_state *source)
{
	return text_equal(source->name, "auto") ? "if this is a cloud's machine, name it with --notice; else only SIGTERM announces a preemption here"
		: source->health == SOURCE_STARTING ? "check that the endpoint can be reached from here"
		: "fix this; until then, only SIGTERM announces a preemption here";
}
// clang-format on

/* A source that the user has named must work; a file is always named. `auto` takes the
 * sources that it finds, so a failure there is only a warning. */
static void source_row(const struct source_state *source, bool chosen, struct check_list *list)
{
	bool named = chosen || text_equal(source->name, "file");
	const struct check_finding bad = {"notice", named ? CHECK_FAIL : CHECK_WARN, "$1",
					  fix_of_source(source)};
	bool starting = source->health == SOURCE_STARTING, asked = source->polls > 0;
	char text[480];

	notice_format_source(source, text, sizeof(text));
	if (starting)
		snprintf(text, sizeof(text), "notices from %s: no %s%s", source->name,
			 asked ? "usable reply: " : "reply yet", asked ? source->why : "");
	/* Azure's metadata service may take two minutes for its first reply. */
	check_add(list,
		  source->health == SOURCE_ARMED                             ? &armed
		  : source->health == SOURCE_UNAVAILABLE && source->optional ? &no_cloud
		  : starting && !asked && text_equal(source->name, "azure")  ? &slow_azure
									     : &bad,
		  text, NULL);
}

static void notice_rows(const struct host_facts *facts, struct check_list *list)
{
	bool chosen = facts->notice && *facts->notice && !text_starts(facts->notice, "auto");

	if (facts->notice_error)
		check_add(list, &bad_notice, facts->notice_error, NULL);
	else if (facts->source_count == 0)
		check_add(list, chosen ? &no_source : &at_home, facts->notice, NULL);
	for (size_t i = 0; i < facts->source_count; i++)
		source_row(&facts->sources[i], chosen, list);
}

static bool is_shell(const char *name)
{
	auto_free char *word = text_format(" %s ", name);

	return strstr(" sh bash dash ash ksh zsh busybox ", word) != NULL;
}

static void init_row(const struct host_facts *facts, struct check_list *list)
{
	if (facts->subreaper_error)
		check_add(list, &no_subreaper, facts->subreaper_error, NULL);
	else
		check_add(list, facts->init && is_shell(facts->init) ? &shell_is_init : &init,
			  facts->init ? facts->init : "unknown", NULL);
}

static void grace_row(const struct host_facts *facts, struct check_list *list)
{
	bool fits = facts->transfer_ms <= facts->grace_ms;
	char grace[32], need[32];

	check_add(list,
		  !fits               ? &short_grace
		  : facts->kubernetes ? &grace_of_pod
				      : &grace_fits,
		  text_duration(facts->grace_ms, grace, sizeof(grace)),
		  text_duration(facts->transfer_ms, need, sizeof(need)));
}

void check_host(const struct host_facts *facts, struct check_list *list)
{
	char watches[24];

	*list = (struct check_list){0};
	notice_rows(facts, list);
	check_add(list,
		  !facts->shim        ? &no_shim
		  : facts->shim_error ? &bad_shim
				      : &shim,
		  facts->shim, facts->shim_error);
	init_row(facts, list);
	snprintf(watches, sizeof(watches), "%lld", (long long)facts->watches);
	if (facts->watches >= 0 && facts->watches < WATCHES_FEW)
		check_add(list, &few_watches, watches, NULL);
	grace_row(facts, list);
}

/* --- the facts --- */

/* A metadata service may start late, so one failure says little. */
static bool is_worth_waiting(const struct source_state *states, size_t count, int64_t waited_ms)
{
	for (size_t i = 0; i < count && i < CLOUD_SOURCES_MOST; i++)
		if (states[i].health == SOURCE_STARTING && waited_ms < METADATA_WAIT_MS)
			return true;
	return false;
}

/* Waits until each source can be judged. Returns how many there are; with an error 0. */
static size_t wait_for_sources(const char *notice, struct source_state states[CLOUD_SOURCES_MOST],
			       struct err *err)
{
	const struct cloud_options options = {.sources = notice};
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

/* The loader's complaint when a program starts with the shim; NULL: none. The program is this one,
 * because a container image may have no other. The caller frees. */
static char *shim_error(const char *path)
{
	char *const argv[] = {(char *)"/proc/self/exe", (char *)"--version", NULL};
	auto_free char *list = NULL, *said = NULL;
	struct err err;

	if (ld_preload_compose(NULL, path, &list, &err) < 0)
		return text_copy(err.text);
	auto_free char *preload = text_format("LD_PRELOAD=%s", list);
	auto_free char *quiet = ld_preload_sanitizer_options(getenv("ASAN_OPTIONS"));
	auto_free char *sanitizer = text_format("ASAN_OPTIONS=%s", quiet);
	const char *const set[] = {preload, sanitizer, NULL};
	auto_free char **environment = child_variables(set, NULL);
	if (program_output(argv, environment, SHIM_MS, &said, &err) < 0)
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

void inspect_host(const struct host_facts *given, struct check_list *list)
{
	struct source_state sources[CLOUD_SOURCES_MOST];
	struct err notice_error, subreaper_error;
	auto_free char *watches = read_first_line("/proc/sys/fs/inotify/max_user_watches");
	auto_free char *path = NULL, *shim_said = NULL;
	struct host_facts facts = *given;
	struct proc_stat first;

	facts.sources = sources;
	facts.init = proc_read_stat(1, &first) ? first.comm : NULL;
	facts.kubernetes = getenv("KUBERNETES_SERVICE_HOST") != NULL;
	facts.watches = watches ? strtoll(watches, NULL, 10) : -1;
	facts.source_count = wait_for_sources(facts.notice, sources, &notice_error);
	facts.notice_error = notice_error.text[0] ? notice_error.text : NULL;
	if (ld_preload_find(&path, NULL) == 0)
		shim_said = shim_error(path);
	facts.shim_error = shim_said;
	facts.shim = path;
	if (child_prepare(&subreaper_error) < 0)
		facts.subreaper_error = subreaper_error.text;
	check_host(&facts, list);
}
