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

static bool is_chosen(const char *notice)
{
	return notice && !text_equal(notice, "") && !text_starts(notice, "auto");
}

static const char *fix_of_source(const struct source_state *source)
{
	if (text_equal(source->name, "auto"))
		return "if this is a cloud's machine, name it with --notice; else only SIGTERM "
		       "announces a preemption here";
	return source->health == SOURCE_STARTING
		       ? "check that the endpoint can be reached from here"
		       : "fix this; until then, only SIGTERM announces a preemption here";
}

/* A source that the user has named must work; a file is always named. `auto` takes the
 * sources that it finds, so a failure there is only a warning. */
static void source_row(const struct source_state *source, bool chosen, struct check_list *list)
{
	bool named = chosen || text_equal(source->name, "file");
	enum check_level bad = named ? CHECK_FAIL : CHECK_WARN;
	bool starting = source->health == SOURCE_STARTING, asked = source->polls > 0;
	char text[480];

	notice_format_source(source, text, sizeof(text));
	if (starting)
		snprintf(text, sizeof(text), "notices from %s: no %s%s", source->name,
			 asked ? "usable reply: " : "reply yet", asked ? source->why : "");
	if (source->health == SOURCE_ARMED)
		check_add(list, "notice", CHECK_OK, "", "%s", text);
	else if (source->health == SOURCE_UNAVAILABLE && source->optional)
		check_add(list, "notice", CHECK_OK, "",
			  "no cloud announces anything here (none answers)");
	/* Azure's metadata service may take two minutes for its first reply. */
	else if (starting && !asked && text_equal(source->name, "azure"))
		check_add(list, "notice", CHECK_WARN,
			  "try again: the first reply of Azure may take two minutes", "%s", text);
	else
		check_add(list, "notice", bad, fix_of_source(source), "%s", text);
}

static void notice_rows(const struct host_facts *facts, struct check_list *list)
{
	bool chosen = is_chosen(facts->notice);

	if (facts->notice_error)
		check_add(list, "notice", CHECK_FAIL, "fix --notice", "%s", facts->notice_error);
	else if (facts->source_count == 0 && chosen)
		check_add(list, "notice", CHECK_OK, "",
			  "no notice source is watched (--notice %s): only SIGTERM announces a "
			  "preemption",
			  facts->notice);
	else if (facts->source_count == 0)
		check_add(list, "notice", CHECK_OK, "",
			  "this machine is not in a known cloud: only SIGTERM announces a "
			  "preemption");
	for (size_t i = 0; i < facts->source_count; i++)
		source_row(&facts->sources[i], chosen, list);
}

static void shim_row(const struct host_facts *facts, struct check_list *list)
{
	if (!facts->shim)
		check_add(list, "shim", CHECK_WARN,
			  "install libreprieve-shim.so beside reprieve, or name it in "
			  "REPRIEVE_SHIM_PATH",
			  "the preload library is not found: completeness is judged from the "
			  "directory alone");
	else if (facts->shim_error)
		check_add(list, "shim", CHECK_WARN,
			  "use the one that was built for this system's C library",
			  "%s does not load: %s", facts->shim, facts->shim_error);
	else
		check_add(list, "shim", CHECK_OK, "", "%s loads", facts->shim);
}

static bool is_shell(const char *name)
{
	auto_free char *word = text_format(" %s ", name);

	return strstr(" sh bash dash ash ksh zsh busybox ", word) != NULL;
}

static void init_row(const struct host_facts *facts, struct check_list *list)
{
	if (facts->subreaper_error)
		check_add(list, "init", CHECK_WARN, "make it PID 1 of the container",
			  "reprieve cannot reap the job's orphans: %s", facts->subreaper_error);
	else if (facts->init && is_shell(facts->init))
		check_add(list, "init", CHECK_WARN,
			  "write the entrypoint as a list, [\"reprieve\", \"run\", \"--\", ...], "
			  "or `exec reprieve run` in the script",
			  "process 1 is %s: a shell does not forward SIGTERM, so the job does not "
			  "learn that the container is stopped",
			  facts->init);
	else
		check_add(list, "init", CHECK_OK, "",
			  "reprieve reaps the job's orphans; process 1 is %s",
			  facts->init ? facts->init : "unknown");
}

static void watches_row(const struct host_facts *facts, struct check_list *list)
{
	if (facts->watches >= 0 && facts->watches < WATCHES_FEW)
		check_add(list, "inotify", CHECK_WARN, "sysctl fs.inotify.max_user_watches=65536",
			  "inotify can watch %lld directories; larger trees are polled instead",
			  (long long)facts->watches);
}

static void grace_row(const struct host_facts *facts, struct check_list *list)
{
	bool fits = facts->transfer_ms <= facts->grace_ms;
	char grace[32], need[32];

	text_duration(facts->grace_ms, grace, sizeof(grace));
	if (!fits)
		check_add(list, "grace", CHECK_WARN,
			  facts->kubernetes ? "raise terminationGracePeriodSeconds and --grace; or "
					      "save often (--every)"
					    : "raise --grace and the time-out of whoever sends the "
					      "SIGKILL; or save often (--every)",
			  "%s from SIGTERM to SIGKILL (--grace), but uploading a whole checkpoint "
			  "(--size) takes about %s",
			  grace, text_duration(facts->transfer_ms, need, sizeof(need)));
	else
		check_add(list, "grace", CHECK_OK, "", "%s from SIGTERM to SIGKILL (--grace)%s",
			  grace,
			  facts->kubernetes ? "; terminationGracePeriodSeconds must be longer (it "
					      "cannot be read from here)"
					    : "");
}

void check_host(const struct host_facts *facts, struct check_list *list)
{
	*list = (struct check_list){0};
	notice_rows(facts, list);
	shim_row(facts, list);
	init_row(facts, list);
	watches_row(facts, list);
	grace_row(facts, list);
}

/* --- the facts --- */

static void ignore_notice(void *arg, const struct notice *notice)
{
	(void)arg, (void)notice;
}

static void ignore_health(void *arg, const struct source_state *state)
{
	(void)arg, (void)state;
}

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
	const char *const set[] = {preload, sanitizer, NULL};
	auto_free char **environment = child_variables(set, NULL);
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

void inspect_host(const struct doctor_options *options, struct check_list *list)
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
	check_host(&facts, list);
}
