/* reprieve run: one job, from restore to exit. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/inside.h"
#include "base/log.h"
#include "base/text.h"
#include "cli.h"
#include "gang/gang.h"
#include "job/job.h"
#include "options/options.h"
#include "process/process.h"
#include "scheduler/scheduler.h"
#include "telemetry/telemetry.h"
#include "verbs.h"
#include "workspace/workspace.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static int report_failure(int code, const struct err *err)
{
	log_error("%s", err->text);
	return code;
}

/* `gang` NULL: by the name that all of its members would have. */
static int find_job_name(const struct job_config *options, const struct gang_identity *gang,
			 struct job_name *name, struct err *err)
{
	struct job_place place = {
		.of_gang = !gang || gang->members > 1,
		.element_is_member = options->member != NULL,
	};
	char directory[PATH_MAX] = "";
	bool by_variable = options->job && options->job == getenv("REPRIEVE_JOB");

	if (!place.of_gang) {
		place.index = gang->index;
		place.index_from = gang->index_from;
	}
	if (!getcwd(directory, sizeof(directory)))
		directory[0] = '\0';
	return job_name_find(by_variable ? NULL : options->job, &place, inside_getenv, NULL,
			     directory, (const char *const *)options->command, name, err);
}

#define TELL_MS 15000
#define TELL_EVERY_MS 500

/* The other members wait for this one, which does not even know which one it is. It is told to
 * those of its own launch, where that has a name, and once one of them is there: a mistake at the
 * command line creates nothing in a store, and ends no other start. Best effort. */
static void tell_other_members(const struct job_config *options, const char *launch,
			       const struct err *why)
{
	auto_(cancel_release) struct cancel soon = {.fd = -1};
	struct storage_options open = {.url = options->store};
	struct job_name name;
	bool awaited = true;
	struct err err;

	if (!*launch || !options->store || find_job_name(options, NULL, &name, &err) < 0 ||
	    !name.given || cancel_init(&soon, &err) < 0)
		return;
	open.job = name.text;
	cancel_set_deadline(&soon, clock_monotonic_ms() + TELL_MS);
	while (awaited) {
		auto_(storage_close) struct storage *storage = NULL;

		if (storage_open(&open, &storage, &soon, &err) == 0 &&
		    gang_start_contradict(storage, launch, why->text, &soon, &err) == 0)
			return;
		log_debug("the other members are not told: %s", err.text);
		awaited = (err.kind == ERR_NOT_FOUND || err.kind == ERR_RETRY) &&
			  cancel_sleep(&soon, TELL_EVERY_MS, &err) == 0;
	}
}

/* What all members need, and who has found a gang by default need not have. */
static int check_gang(const struct job_config *options, const struct job_name *name,
		      const struct gang_identity *gang, struct err *err)
{
	if (!name->given)
		return err_set(err, ERR_INVALID,
			       "a gang of %u machines needs a name that is the same on all: give "
			       "--job NAME",
			       gang->members);
	if (!options->store)
		return err_set(err, ERR_INVALID,
			       "a gang of %u machines needs a store that all reach: give --store "
			       "URL",
			       gang->members);
	return 0;
}

static int find_members(const struct job_config *options, struct job_name *name,
			struct gang_identity *gang, struct err *err)
{
	if (gang_identity_find(options->gang, options->member, inside_getenv, NULL,
			       (const char *const *)options->command, gang, err) < 0) {
		if (!options->dry_run)
			tell_other_members(options, gang->launch, err);
		return -1;
	}
	if (find_job_name(options, gang, name, err) < 0)
		return -1;
	if (gang->members == 1 || check_gang(options, name, gang, err) == 0)
		return 0;
	if (!gang->by_default)
		return -1;
	gang->members = 1;
	gang->member = 0;
	gang->by_default = false;
	text_set(gang->apart, sizeof(gang->apart), err->text);
	return find_job_name(options, gang, name, err);
}

/* A gang is one job: what names it must be the same on all machines. */
static int find_identity(const struct job_config *options, struct job_name *name,
			 struct gang_identity *gang, struct err *err)
{
	if (find_members(options, name, gang, err) < 0)
		return -1;
	gang->goes_on = options->goes_on_without;
	if (gang->goes_on && gang->members > 1 && options->shim == SHIM_USE_OFF)
		return err_set(err, ERR_INVALID,
			       "--on-preemption continue needs the shim, which alone sees that the "
			       "ranks were started again");
	if (gang->members > 1 || !gang->goes_on)
		return 0;
	return err_set(err, ERR_INVALID,
		       "--on-preemption continue is for a gang, of which the others go on: this "
		       "run is of one machine%s%s",
		       gang->apart[0] ? ": " : "", gang->apart);
}

/* What it would have taken from the environment, and is the outer run's. */
static void say_where_it_is_inside(const struct job_config *options, const struct job_name *name)
{
	const char *attempt = getenv(INSIDE_VARIABLE), *outer = getenv("REPRIEVE_OUTER_JOB");
	bool inside = inside_run(inside_getenv, NULL);

	if (attempt && *attempt && outer && *outer && !text_equal(name->origin, "--job") &&
	    !text_equal(name->origin, "REPRIEVE_JOB"))
		log_note("%s attempt %.16s of job %.128s: this is job %s, by itself, with "
			 "checkpoints in %s (--job and --checkpoint-dir choose)",
			 inside ? "inside" : "submitted by", attempt, outer, name->text,
			 options->checkpoint_dir);
}

/* A store that has nothing of the job yet: could it be used? */
static int try_store(const char *url, struct err *err)
{
	struct store_probe probe;

	if (storage_probe(url, 0, &probe, NULL, err) < 0)
		return -1;
	for (size_t i = 0; i < PROBE_STEPS; i++)
		if (probe.steps[i].tried && !probe.steps[i].worked) {
			*err = probe.steps[i].err;
			return err_wrap(err, "store %s", url);
		}
	return 0;
}

/* What the job would go on from, and what is there. Returns the exit code of a start. */
static int print_restore(const struct job *job)
{
	static const char *const texts[] = {
		[RESTORE_LATEST] = "none: no good snapshot is there",
		[RESTORE_NONE] = "none",
		[RESTORE_SPECIFIC] = "the one chosen",
	};
	struct storage_options options = {
		.url = job->store,
		.job = job->name.text,
		.read_only = true,
	};
	enum restore_policy policy = job->options->restore;
	auto_(storage_close) struct storage *storage = NULL;
	auto_(snapshot_list_release) struct snapshot_list list = {0};
	auto_free char *why_not = NULL;
	const char *what = texts[policy];
	char id[SNAPSHOT_ID_TEXT];
	struct err err = {0};
	int looked = job->store ? storage_open(&options, &storage, NULL, &err) : 0;

	if (storage)
		why_not = job_explain_restart_decision(job, storage);
	if (storage)
		looked = storage_list_snapshots(storage, &list, NULL, &err);
	for (size_t i = 0; policy == RESTORE_LATEST && i < list.count; i++)
		if (list.items[i].newest)
			what = "the newest good snapshot";
	if (policy == RESTORE_LATEST && looked < 0 && err.kind != ERR_NOT_FOUND)
		what = "the newest good snapshot, if there is one";
	terminal_line_print("restore         %s%s", why_not ? "none: " : "",
			    why_not ? why_not : what);
	for (size_t i = 0; i < list.count; i++)
		if (list.items[i].newest || list.items[i].state == SNAPSHOT_DAMAGED)
			terminal_line_print("                %s %s%s%s",
					    snapshot_id_format(list.items[i].id, id),
					    snapshot_state_name(&list.items[i]),
					    list.items[i].damage[0] ? ": " : "",
					    list.items[i].damage);
	if (looked < 0 && err.kind == ERR_NOT_FOUND && try_store(job->store, &err) == 0) {
		printf("                nothing is there yet\n");
		return 0;
	}
	if (looked < 0 && !job->store_is_needed)
		terminal_line_print("                cannot look: %s", err.text);
	if (looked == 0 || !job->store_is_needed)
		return 0;
	printf("                nothing: the job would not be started\n");
	return report_failure(job_refusal_code(err.kind), &err);
}

/* Another run there refuses a start that has it from the beginning (launch/launch.h). Returns
 * the exit code of a start. */
static int print_directory(const struct job *job)
{
	/* What lies there is judged by a start, which reads all of it and moves aside what is torn:
	 * not here. */
	static const char *const texts[] = {
		[RESTORE_LATEST] = ("judged by the start: the job goes on from them where they are "
				    "whole and newer than the snapshot (not looked at here)"),
		[RESTORE_NONE] = "they stay, but for what is torn, and the job finds them",
		[RESTORE_SPECIFIC] = "they make room for the snapshot, and are kept",
	};
	const char *directory = job->options->checkpoint_dir;
	struct workspace workspace = {0};
	auto_(snapshot_files_release) struct snapshot_files files = {0};
	struct err err;
	bool takes_it;
	int code = 0, last;

	terminal_line_print("checkpoints in  %s", directory);
	workspace_init(&workspace, directory);
	(void)workspace_list_files(&workspace, &files, NULL);
	takes_it = files.count > 0 || job_expects_checkpoints(job) != EXPECT_NOTHING;
	if (workspace_is_in_use(&workspace, &last, &err)) {
		terminal_line_print("                in use: %s",
				    takes_it ? "the job would not be started"
					     : "nothing of the job would be saved");
		code = takes_it ? report_failure(EXIT_OWN_FAILURE, &err) : 0;
	}
	workspace_release(&workspace);
	if (files.count > 0)
		terminal_line_print("files there     %s", texts[job->options->restore]);
	return code;
}

static int print_dry_run(const struct job *job, const char *origin)
{
	struct directory_check own = {
		.directory = job->options->checkpoint_dir,
		.store = job->store,
		.command = job->options->command,
	};
	struct err err = {0};
	const char *advice;
	char text[512];
	int code, in_use;

	if (directory_check_run(&own, &advice, &err) < 0) {
		log_error("%s: %s", err.text, advice);
		return EXIT_CONFIGURATION;
	}
	terminal_line_print("job             %s (from %s)", job->name.text, origin);
	if (job->gang.members > 1)
		terminal_line_print("gang            member %u of %u (%s)", job->gang.member,
				    job->gang.members, job->gang.origin);
	else if (job->gang.apart[0])
		terminal_line_print("gang            none: %s", job->gang.apart);
	terminal_line_print("store           %s%s", job->store ? job->store : "none",
			    job->store_is_needed ? "" : " (the default; choose with --store)");
	in_use = print_directory(job);
	profile_options_format(job->options, &job->profile, text, sizeof(text));
	terminal_line_print("profile         %s",
			    text[0] ? text + (text_starts(text, "profile ") ? 8 : 0)
				    : "none was recognised");
	terminal_line_print("notices from    %s, SIGTERM (grace %lld s)", job->options->notice,
			    (long long)job->options->grace_ms / 1000);
	code = print_restore(job);
	printf("command        ");
	for (size_t i = 0; job->options->command[i]; i++) {
		auto_free char *kept = redact_argument(job->options->command, i);

		terminal_print(" %s", kept);
	}
	printf("\n");
	return code ? code : in_use;
}

/* As `tini -p`; by default where the parent is the script that Slurm has started. Returns that one;
 * 0: there is none. The signal is ours to send if the parent has died before this. */
static pid_t arm_parent_death_signal(const struct signal_rules *rules)
{
	pid_t parent = getppid(), script = slurm_job_script(getenv("SLURM_TASK_PID"), parent);
	int signal = rules->parent_death;

	if (script && !rules->parent_death_chosen)
		signal = SIGTERM;
	if (!signal)
		return 0;
	if (prctl(PR_SET_PDEATHSIG, (unsigned long)signal) < 0)
		log_warn("--parent-death: %s", strerror(errno));
	else if (getppid() != parent)
		kill(getpid(), signal);
	return script;
}

/* What of a job is known before it begins; the rest is zero. */
static void set_up_job(struct job *job, const struct job_config *options, const char *store)
{
	job->options = options;
	job->store = options->store ? options->store : store;
	/* Who names a snapshot wants that one, or nothing. */
	job->store_is_needed = options->store_chosen || options->restore == RESTORE_SPECIFIC ||
			       job->gang.members > 1;
	job->events.fd = job->session.lock_fd = job->loop.epoll_fd = job->cancel.fd =
		job->observers.cancel.fd = -1;
	job->signals.source.fd = -1;
}

static void say_who_it_is(const struct job *job)
{
	const struct gang_identity *gang = &job->gang;

	if (gang->members > 1)
		log_note("member %u of a gang of %u (%s)%s", gang->member, gang->members,
			 gang->origin,
			 gang->by_default ? ": one checkpoint of all; with --gang off each "
					    "machine is a job of its own"
					  : "");
	else if (gang->apart[0] && gang->index[0])
		log_note("no gang: %s; this goes on as job %s (--gang auto: one training; "
			 "--gang off: the name as it is)",
			 gang->apart, job->name.text);
	else if (gang->apart[0])
		log_note("no gang: %s (--gang auto: a gang; --gang off: nothing is said)",
			 gang->apart);
}

static int run_job(struct job *job)
{
	const struct job_config *options = job->options;
	char text[512];
	struct err err;

	if (child_prepare(&err) < 0)
		log_warn("%s", err.text);
	if (job->gang.members > 1)
		log_set_member(job->gang.member);
	/* Nothing else is said of a command that cannot run. */
	if (child_check_command(options->command[0], &err) == 0 &&
	    profile_options_format(options, &job->profile, text, sizeof(text))[0])
		log_note("%s", text);
	say_who_it_is(job);
	if (sigismember(&job->inherited->ignored, SIGTERM) == 1)
		log_note("SIGTERM was ignored at the start (trap '' TERM): it is a notice all the "
			 "same, and the job starts with it ignored");
	say_where_it_is_inside(options, &job->name);
	job->slurm_script = arm_parent_death_signal(&options->signal_rules);
	return job_run(job);
}

int cmd_run(int argc, char **argv)
{
	struct signals_inherited inherited;
	auto_(job_config_release) struct job_config options = {0};
	auto_free char *embedded = NULL;
	auto_free struct job *job = memory_new(sizeof(*job));
	struct err err;
	enum option_result result;
	int code;

	signals_block(&inherited);
	result = run_options_parse(argc, argv, &options, &err);
	if (result != OPTION_PARSED)
		return result == OPTION_HELPED ? 0 : report_failure(EXIT_USAGE, &err);
	log_set_level(options.quiet     ? LOG_LEVEL_WARN
		      : options.verbose ? LOG_LEVEL_DEBUG
					: LOG_LEVEL_NOTE);
	code = command_check_environment(options.strict);
	if (code)
		return code;
	job->inherited = &inherited;
	job->gang.members = 1;
	/* What is wrong is the command line, or what a launcher says beside it. */
	if (find_identity(&options, &job->name, &job->gang, &err) < 0)
		return report_failure(err.kind == ERR_UNFIT ? EXIT_CONFIGURATION : EXIT_USAGE,
				      &err);
	if (profile_options_resolve(&options, &job->profile, &err) < 0)
		return report_failure(EXIT_USAGE, &err);
	job->gang.began_ms = process_began_ms();
	if (!options.store && !(embedded = default_store_url(&err)))
		job->reports.no_store = err;
	set_up_job(job, &options, embedded);
	return options.dry_run ? print_dry_run(job, job->name.origin) : run_job(job);
}
