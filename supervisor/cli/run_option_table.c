#include "run_option_table.h"
#include "retention_options.h"
#include "transfer_options.h"

#include "asking_options.h"
#include "base/text.h"
#include "telling_options.h"

#include <strings.h>

#define FLUSH_LEAST_MS 1000
#define NO_PROGRESS_MOST 1000

int run_option_parse_duration(const char *value, int64_t *milliseconds, struct err *err)
{
	if (!text_to_duration_ms(value, milliseconds))
		return err_set(err, ERR_INVALID, "'%s' is no duration: write 30, 90s, 15m or 2h",
			       value);
	return 0;
}

static int set_store(struct job_config *options, const char *value, struct err *err)
{
	if (!*value)
		return err_set(err, ERR_INVALID,
			       "it is empty: write file:///DIR, s3://BUCKET/PREFIX, "
			       "gs://BUCKET/PREFIX or az://ACCOUNT/CONTAINER/PREFIX");
	options->store = value;
	options->store_chosen = true;
	return 0;
}

static int set_directory(struct job_config *options, const char *value, struct err *err)
{
	if (!*value)
		return err_set(err, ERR_INVALID, "it is empty: name a directory");
	options->checkpoint_dir = value;
	options->directory_chosen = true;
	return 0;
}

static int set_job(struct job_config *options, const char *value, struct err *err)
{
	(void)err;
	options->job = value;
	return 0;
}

static int set_notice(struct job_config *options, const char *value, struct err *err)
{
	(void)err; /* cloud.h knows the names, and says which one it does not know */
	options->notice = value;
	return 0;
}

static int set_deadline(struct job_config *options, const char *value, struct err *err)
{
	(void)err; /* cloud.h knows the forms */
	options->deadline = *value ? value : NULL;
	return 0;
}

static int set_deadline_notice(struct job_config *options, const char *value, struct err *err)
{
	return run_option_parse_duration(value, &options->deadline_notice_ms, err);
}

static int set_grace(struct job_config *options, const char *value, struct err *err)
{
	return run_option_parse_duration(value, &options->grace_ms, err);
}

static int set_flush_time(struct job_config *options, const char *value, struct err *err)
{
	if (run_option_parse_duration(value, &options->flush_ms, err) < 0)
		return -1;
	if (options->flush_ms < FLUSH_LEAST_MS)
		return err_set(err, ERR_INVALID, "'%s' is too short: give the store 1s or more",
			       value);
	return 0;
}

static int set_restore(struct job_config *options, const char *value, struct err *err)
{
	if (text_equal(value, "latest"))
		options->restore = RESTORE_LATEST;
	else if (text_equal(value, "none"))
		options->restore = RESTORE_NONE;
	else if (snapshot_id_parse(value, &options->restore_id))
		options->restore = RESTORE_SPECIFIC;
	else
		return err_set(err, ERR_INVALID,
			       "'%s' is no snapshot: write latest, none, or an ID that `reprieve "
			       "list` shows",
			       value);
	return 0;
}

static int set_keep_last(struct job_config *options, const char *value, struct err *err)
{
	return retention_set_last(&options->retention, value, err);
}

static int set_keep_within(struct job_config *options, const char *value, struct err *err)
{
	return retention_set_within(&options->retention, value, err);
}

static int set_keep_every(struct job_config *options, const char *value, struct err *err)
{
	return retention_set_every(&options->retention, value, err);
}

static int add_keep_tag(struct job_config *options, const char *value, struct err *err)
{
	return retention_add_tag(&options->retention, value, err);
}

static int set_tag(struct job_config *options, const char *value, struct err *err)
{
	options->tag = value;
	return retention_check_tag(value, err);
}

static int set_memory(struct job_config *options, const char *value, struct err *err)
{
	return transfer_set_memory(&options->transfer, value, err);
}

static int set_bandwidth(struct job_config *options, const char *value, struct err *err)
{
	return transfer_set_bandwidth(&options->transfer, value, err);
}

static int set_connections(struct job_config *options, const char *value, struct err *err)
{
	return transfer_set_connections(&options->transfer, value, err);
}

static int set_shim(struct job_config *options, const char *value, struct err *err)
{
	if (text_equal(value, "auto"))
		options->shim = SHIM_USE_AUTO;
	else if (text_equal(value, "on"))
		options->shim = SHIM_USE_ON;
	else if (text_equal(value, "off"))
		options->shim = SHIM_USE_OFF;
	else
		return err_set(err, ERR_INVALID, "'%s' is not one of auto, on, off", value);
	return 0;
}

static int set_watch(struct job_config *options, const char *value, struct err *err)
{
	if (!text_equal(value, "auto") && !text_equal(value, "poll"))
		return err_set(err, ERR_INVALID, "'%s' is not one of auto, poll", value);
	options->polls = text_equal(value, "poll");
	return 0;
}

static int set_shield(struct job_config *options, const char *value, struct err *err)
{
	if (!text_equal(value, "on") && !text_equal(value, "off"))
		return err_set(err, ERR_INVALID, "'%s' is neither on nor off", value);
	options->sigterm_hold = text_equal(value, "on");
	return 0;
}

static int set_requeue(struct job_config *options, const char *value, struct err *err)
{
	if (!text_equal(value, "auto") && !text_equal(value, "off"))
		return err_set(err, ERR_INVALID, "'%s' is neither auto nor off", value);
	options->requeue = text_equal(value, "auto");
	return 0;
}

static int set_events(struct job_config *options, const char *value, struct err *err)
{
	(void)err;
	options->events = value;
	return 0;
}

static int add_rewrite(struct job_config *options, const char *value, struct err *err)
{
	return signal_rules_add_rewrite(&options->signal_rules, value, err);
}

static int set_forward(struct job_config *options, const char *value, struct err *err)
{
	return signal_rules_set_receiver(&options->signal_rules, value, err);
}

static int set_parent_death(struct job_config *options, const char *value, struct err *err)
{
	return signal_rules_set_parent_death(&options->signal_rules, value, err);
}

static int add_success_code(struct job_config *options, const char *value, struct err *err)
{
	return signal_rules_add_success(&options->signal_rules, value, err);
}

/* A flag's value is "1" on the command line; in the environment it may be written
 * as people write it. */
static int set_flag(const char *value, bool *flag, struct err *err)
{
	static const char *const words[][2] =
		{{"0", "1"}, {"no", "yes"}, {"false", "true"}, {"off", "on"}};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		for (int on = 0; on < 2; on++)
			if (strcasecmp(value, words[i][on]) == 0) {
				*flag = on;
				return 0;
			}
	return err_set(err, ERR_INVALID, "'%s' is neither on nor off: write 1 or 0", value);
}

static int set_acknowledge(struct job_config *options, const char *value, struct err *err)
{
	return set_flag(value, &options->acknowledge, err);
}

static int set_strict(struct job_config *options, const char *value, struct err *err)
{
	return set_flag(value, &options->strict, err);
}

static int set_max_no_progress(struct job_config *options, const char *value, struct err *err)
{
	uint64_t number;

	if (!text_to_u64(value, NO_PROGRESS_MOST, &number))
		return err_set(err, ERR_INVALID,
			       "'%s' is no number of attempts: write 0 (no limit) to %d", value,
			       NO_PROGRESS_MOST);
	options->max_no_progress = (uint32_t)number;
	return 0;
}

static int set_run_identity(struct job_config *options, const char *value, struct err *err)
{
	if (!text_equal(value, "on") && !text_equal(value, "off"))
		return err_set(err, ERR_INVALID, "'%s' is neither on nor off", value);
	options->run_identity = text_equal(value, "on");
	return 0;
}

static int set_rerun(struct job_config *options, const char *value, struct err *err)
{
	return set_flag(value, &options->rerun, err);
}

static int set_dry_run(struct job_config *options, const char *value, struct err *err)
{
	return set_flag(value, &options->dry_run, err);
}

static int set_quiet(struct job_config *options, const char *value, struct err *err)
{
	bool on = false;

	if (set_flag(value, &on, err) < 0)
		return -1;
	options->verbosity = on ? -1 : 0;
	return 0;
}

static int set_verbose(struct job_config *options, const char *value, struct err *err)
{
	bool on = false;

	if (set_flag(value, &on, err) < 0)
		return -1;
	options->verbosity = on ? 1 : 0;
	return 0;
}

// clang-format off
const struct run_option run_option_table[] = {
	{"store", 's', "URL", "REPRIEVE_STORE", set_store,
		"where snapshots go: file:///DIR, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, "
			"az://ACCOUNT/CONTAINER/PREFIX\n"
		"(default: file://$XDG_STATE_HOME/reprieve)"},
	{"checkpoint-dir", 'c', "DIR", "REPRIEVE_CHECKPOINT_DIR", set_directory,
		"where the job writes its checkpoints (default: checkpoints)"},
	{"job", 'j', "NAME", "REPRIEVE_JOB", set_job,
		"the name that one job keeps across machines (default: the scheduler's id, else "
		"from the command)"},
	{"notice", 0, "LIST", "REPRIEVE_NOTICE", set_notice,
		"who announces a preemption: auto, none, or some of "
			"aws,gcp,azure,alibaba,tencent,slurm,file:PATH,command:COMMAND\n"
		"(SIGTERM always does)"},
	{"deadline", 0, "TIME", "REPRIEVE_DEADLINE", set_deadline,
		"when the machine will be gone, if that is known: 2h, 2026-04-11T22:05:00Z, or "
		"seconds since 1970"},
	{"deadline-notice", 0, "DURATION", "REPRIEVE_DEADLINE_NOTICE", set_deadline_notice,
		"so long before a known end the job is asked to save (default: 120s)"},
	{"acknowledge", 0, NULL, "REPRIEVE_ACKNOWLEDGE", set_acknowledge,
		"tell Azure that it may take the machine, once everything is durable"},
	{"grace", 0, "SECONDS", "REPRIEVE_GRACE", set_grace,
		"time from SIGTERM to SIGKILL here (default: 30)"},
	{"profile", 0, "NAME", "REPRIEVE_PROFILE", run_option_set_profile,
		"the framework that saves: auto (default), none, or a name that `reprieve explain "
		"profile` lists"},
	{"checkpoint-signal", 0, "SIGNAL", "REPRIEVE_CHECKPOINT_SIGNAL", run_option_set_signal,
		"what makes the job save: USR1, TERM, ..., flag, none, or auto: the flag where the "
		"job polls it, else SIGTERM (default)"},
	{"checkpoint-command", 0, "COMMAND", "REPRIEVE_CHECKPOINT_COMMAND", run_option_set_command,
		"a shell command that makes the job save"},
	{"every", 0, "DURATION", "REPRIEVE_EVERY", run_option_set_every,
		"also ask for a checkpoint regularly; auto: as often as it pays"},
	{"mtbf", 0, "DURATION", "REPRIEVE_MTBF", run_option_set_mtbf,
		"for --every auto: a machine is lost so often (default: as earlier attempts were, "
		"at first 4h)"},
	{"quiet-time", 0, "DURATION", "REPRIEVE_QUIET_TIME", run_option_set_quiet_time,
		"a checkpoint is complete when nothing was written for so long (default: 1s)"},
	{"flush-time", 0, "DURATION", "REPRIEVE_FLUSH_TIME", set_flush_time,
		"when the job has ended, give up on a store that has taken nothing for so long "
		"(default: 60s)"},
	{"memory", 0, "SIZE", "REPRIEVE_MEMORY", set_memory,
		"at most so much for the content on its way (default: 256MiB)"},
	{"bandwidth", 0, "RATE", "REPRIEVE_BANDWIDTH", set_bandwidth,
		"send no faster than that, as 100MB/s; not after a notice (default: no limit)"},
	{"connections", 0, "N", "REPRIEVE_CONNECTIONS", set_connections,
		"at once (default: 8 to send and 16 to restore; file://: one per processor)"},
	{"restore", 0, "WHICH", "REPRIEVE_RESTORE", set_restore,
		"latest (default); none: nothing, and what lies in the checkpoint directory stays; "
		"or the ID of a snapshot"},
	{"keep-last", 0, "N", "REPRIEVE_KEEP_LAST", set_keep_last,
		"forget old snapshots after each commit, but keep the newest N good ones"},
	{"keep-within", 0, "DURATION", "REPRIEVE_KEEP_WITHIN", set_keep_within,
		"likewise, but keep what is no older than that"},
	{"keep-every", 0, "STEPS", "REPRIEVE_KEEP_EVERY", set_keep_every,
		"likewise, but keep the first one of every so many steps"},
	{"keep-tag", 0, "TAG", "REPRIEVE_KEEP_TAG", add_keep_tag,
		"likewise, but keep what has that tag; may be given several times"},
	{"tag", 0, "TAG", "REPRIEVE_TAG", set_tag,
		"a name for the snapshots of this run"},
	{"shim", 0, "USE", "REPRIEVE_SHIM", set_shim,
		"auto, on (refuse to start without it), off (default: auto)"},
	{"watch", 0, "HOW", "REPRIEVE_WATCH", set_watch,
		"auto (default): by the kernel's events, on network file systems by looking too; "
		"poll: always both"},
	{"shield", 0, "USE", "REPRIEVE_SHIELD", set_shield,
		"on (default): SIGTERM from outside reaches the job when its checkpoint is taken; "
		"off: at once"},
	{"exit-policy", 0, "NAME", "REPRIEVE_EXIT_POLICY", run_option_set_exit_policy,
		"exit codes as a scheduler reads them: posix (default), k8s, kubeflow, flyte, ...; "
		"see `reprieve explain exit`"},
	{"label", 0, "NAME=VALUE", "REPRIEVE_LABELS", run_option_add_label,
		"for reports and metrics, as team=nlp; may be given several times"},
	{"metrics", 0, "ADDRESS", "REPRIEVE_METRICS", run_option_set_metrics,
		"serve Prometheus' /metrics, and /livez and /readyz, on 9090, :9090 (from "
		"everywhere) or HOST:PORT"},
	{"metrics-file", 0, "FILE", "REPRIEVE_METRICS_FILE", run_option_set_metrics_file,
		"write the same for a textfile collector, whenever something happens"},
	{"notify", 0, "URL", "REPRIEVE_NOTIFY", run_option_set_notify,
		"POST to a webhook at a notice and at a preempted or failed end; slack:URL for "
		"what speaks as Slack does"},
	{"log", 0, "FILE", "REPRIEVE_LOG", run_option_set_log,
		"where the job's log goes: its last 256 KiB are kept in the store unless the job "
		"finishes"},
	{"termination-log", 0, "FILE", "REPRIEVE_TERMINATION_LOG", run_option_set_termination_log,
		"why the run ended, for Kubernetes to show (default: /dev/termination-log where "
		"there is one; '': none)"},
	{"max-no-progress", 0, "N", "REPRIEVE_MAX_NO_PROGRESS", set_max_no_progress,
		"do not start (exit 93) when the last N attempts have added no durable snapshot "
		"(default: 0, no limit)"},
	{"rerun", 0, NULL, "REPRIEVE_RERUN", set_rerun,
		"start a named job also when this command has finished it"},
	{"run-identity", 0, "USE", "REPRIEVE_RUN_IDENTITY", set_run_identity,
		"on (default): one W&B run for all attempts, where its variables are unset; off"},
	{"rewrite", 0, "FROM=TO", "REPRIEVE_REWRITE", add_rewrite,
		"a signal that comes counts as another one: INT=TERM, HUP=none; may be given "
		"several times"},
	{"forward", 0, "WHOM", "REPRIEVE_FORWARD", set_forward,
		"signals are passed on to the job's main process: job (default), or to its process "
		"group: group"},
	{"parent-death", 0, "SIGNAL", "REPRIEVE_PARENT_DEATH", set_parent_death,
		"the signal that counts as received when the process that started us dies: TERM, "
		"... (default: none)"},
	{"success-code", 0, "CODE", "REPRIEVE_SUCCESS_CODE", add_success_code,
		"an exit code of the job that is success, as 143; may be given several times"},
	{"requeue", 0, "USE", "REPRIEVE_REQUEUE", set_requeue,
		"auto (default): when a batch job of Slurm's is preempted and its work is durable, "
		"scontrol requeues it; off"},
	{"strict", 0, NULL, "REPRIEVE_STRICT", set_strict,
		"a failure of ours is an error: do not start (78), or end with 74 instead of 0"},
	{"events", 0, "FILE", "REPRIEVE_EVENTS", set_events,
		"append what happens as JSON lines"},
	{"dry-run", 'n', NULL, NULL, set_dry_run,
		"say what would be done, and start nothing"},
	{"quiet", 'q', NULL, "REPRIEVE_QUIET", set_quiet,
		"warnings and errors only"},
	{"verbose", 'v', NULL, "REPRIEVE_VERBOSE", set_verbose,
		"say more"},
};
// clang-format on

const size_t run_option_count = sizeof(run_option_table) / sizeof(run_option_table[0]);

_Static_assert(sizeof(run_option_table) / sizeof(run_option_table[0]) <= RUN_OPTIONS_MOST,
	       "more options than OPTION_ROWS_MOST");
