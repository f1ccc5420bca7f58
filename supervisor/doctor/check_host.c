#include "check_host.h"

#include "base/text.h"
#include "telemetry/telemetry.h"

#define WATCHES_FEW 1024
/* Two polls of a metadata service that accepts and does not reply. */
#define METADATA_WAIT_MS 10000

int64_t check_host_source_wait_ms(const struct source_state *source)
{
	if (source->health != SOURCE_STARTING)
		return 0;
	/* A metadata service may start late, so one failure says little. */
	return METADATA_WAIT_MS;
}

static bool is_chosen(const char *notice)
{
	return notice && !text_equal(notice, "") && !text_starts(notice, "auto");
}

static void starting_row(const struct source_state *source, enum check_level bad, const char *fix,
			 struct check_list *check_list)
{
	bool asked = source->polls > 0;

	/* Azure's metadata service may take two minutes for its first reply. */
	if (!asked && text_equal(source->name, "azure"))
		check_list_add(check_list, "notice", CHECK_WARN,
			       "try again: the first reply of Azure may take two minutes",
			       "notices from %s: no reply yet", source->name);
	else
		check_list_add(check_list, "notice", bad, fix, "notices from %s: no %s%s",
			       source->name, asked ? "usable reply: " : "reply yet",
			       asked ? source->why : "");
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
static void source_row(const struct source_state *source, bool chosen,
		       struct check_list *check_list)
{
	bool named = chosen || text_equal(source->name, "file");
	enum check_level bad = named ? CHECK_FAIL : CHECK_WARN;
	char text[480];

	notice_format_source(source, text, sizeof(text));
	switch (source->health) {
	case SOURCE_ARMED:
		check_list_add(check_list, "notice", CHECK_OK, "", "%s", text);
		return;
	case SOURCE_STARTING:
		starting_row(source, bad, fix_of_source(source), check_list);
		return;
	case SOURCE_UNAVAILABLE:
	case SOURCE_UNKNOWN:
		if (source->health == SOURCE_UNAVAILABLE && source->optional)
			check_list_add(check_list, "notice", CHECK_OK, "",
				       "no cloud announces anything here (none answers)");
		else
			check_list_add(check_list, "notice", bad, fix_of_source(source), "%s",
				       text);
		return;
	}
}

static void notice_rows(const struct host_facts *facts, struct check_list *check_list)
{
	bool chosen = is_chosen(facts->notice);

	if (facts->notice_error)
		check_list_add(check_list, "notice", CHECK_FAIL, "fix --notice", "%s",
			       facts->notice_error);
	else if (facts->source_count == 0 && chosen)
		check_list_add(check_list, "notice", CHECK_OK, "",
			       "no notice source is watched (--notice %s): only SIGTERM announces "
			       "a preemption",
			       facts->notice);
	else if (facts->source_count == 0)
		check_list_add(check_list, "notice", CHECK_OK, "",
			       "this machine is not in a known cloud: only SIGTERM announces a "
			       "preemption");
	for (size_t i = 0; i < facts->source_count; i++)
		source_row(&facts->sources[i], chosen, check_list);
}

static void shim_row(const struct host_facts *facts, struct check_list *check_list)
{
	if (!facts->shim)
		check_list_add(check_list, "shim", CHECK_WARN,
			       "install libreprieve-shim.so beside reprieve, or name it in "
			       "REPRIEVE_SHIM_PATH",
			       "the preload library is not found: completeness is judged from the "
			       "directory alone");
	else if (facts->shim_error)
		check_list_add(check_list, "shim", CHECK_WARN,
			       "use the one that was built for this system's C library",
			       "%s does not load: %s", facts->shim, facts->shim_error);
	else
		check_list_add(check_list, "shim", CHECK_OK, "", "%s loads", facts->shim);
}

static bool is_shell(const char *name)
{
	static const char *const shells[] = {"sh", "bash", "dash", "ash", "ksh", "zsh", "busybox"};

	for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++)
		if (text_equal(name, shells[i]))
			return true;
	return false;
}

static void init_row(const struct host_facts *facts, struct check_list *check_list)
{
	if (facts->subreaper_error)
		check_list_add(check_list, "init", CHECK_WARN, "make it PID 1 of the container",
			       "reprieve cannot reap the job's orphans: %s",
			       facts->subreaper_error);
	else if (facts->init && is_shell(facts->init))
		check_list_add(
			check_list, "init", CHECK_WARN,
			"write the entrypoint as a list, [\"reprieve\", \"run\", \"--\", ...], or "
			"`exec reprieve run` in the script",
			"process 1 is %s: a shell does not forward SIGTERM, so the job does not "
			"learn that the container is stopped",
			facts->init);
	else
		check_list_add(check_list, "init", CHECK_OK, "",
			       "reprieve reaps the job's orphans; process 1 is %s",
			       facts->init ? facts->init : "unknown");
}

static void watches_row(const struct host_facts *facts, struct check_list *check_list)
{
	if (facts->watches >= 0 && facts->watches < WATCHES_FEW)
		check_list_add(check_list, "inotify", CHECK_WARN,
			       "sysctl fs.inotify.max_user_watches=65536",
			       "inotify can watch %lld directories; larger trees are polled "
			       "instead",
			       (long long)facts->watches);
}

static void grace_row(const struct host_facts *facts, struct check_list *check_list)
{
	bool fits = facts->transfer_ms <= facts->grace_ms;
	char grace[32], need[32];

	text_duration(facts->grace_ms, grace, sizeof(grace));
	if (!fits)
		check_list_add(
			check_list, "grace", CHECK_WARN,
			facts->kubernetes ? "raise terminationGracePeriodSeconds and --grace; or "
					    "save often (--every)"
					  : "raise --grace and the time-out of whoever sends the "
					    "SIGKILL; or save often (--every)",
			"%s from SIGTERM to SIGKILL (--grace), but uploading a whole checkpoint "
			"(--size) takes about %s",
			grace, text_duration(facts->transfer_ms, need, sizeof(need)));
	else
		check_list_add(check_list, "grace", CHECK_OK, "",
			       "%s from SIGTERM to SIGKILL (--grace)%s", grace,
			       facts->kubernetes
				       ? "; terminationGracePeriodSeconds must be longer (it "
					 "cannot be read from here)"
				       : "");
}

void check_host(const struct host_facts *facts, struct check_list *check_list)
{
	*check_list = (struct check_list){0};
	notice_rows(facts, check_list);
	shim_row(facts, check_list);
	init_row(facts, check_list);
	watches_row(facts, check_list);
	grace_row(facts, check_list);
}
