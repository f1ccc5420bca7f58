#include "options.h"

#include "base/file.h"
#include "base/text.h"
#include "scheduler/scheduler.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* --- rows that several verbs have --- */

const struct option_row json_rows[] = {
	{"json", 0, NULL, NULL, "print JSON", .kind = OPTION_KIND_FLAG, .size = sizeof(bool)},
	{0},
};

const struct option_row running_job_rows[] = {
	{"job", 'j', "NAME", NULL, "which job, where several run here under this user",
	 .kind = OPTION_KIND_TEXT, .least = 1},
	{0},
};

char *default_store_url(struct err *err)
{
	const char *state = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");

	if (state && state[0] == '/')
		return text_format("file://%s/reprieve", state);
	if (home && home[0] == '/')
		return text_format("file://%s/.local/state/reprieve", home);
	err_set(err, ERR_INVALID,
		"neither HOME nor XDG_STATE_HOME is set: choose a place with --store");
	return NULL;
}

#define MEMORY_LEAST (32 << 20) /* storage: less is not kept to */
#define BANDWIDTH_LEAST 1000    /* less is a forgotten unit */
#define CONNECTIONS_MOST 64

/* "100MB/s", or without the "/s". */
static int set_bandwidth(void *options, const char *value, struct err *err)
{
	auto_free char *size =
		text_ends(value, "/s") ? text_copy_n(value, strlen(value) - 2) : text_copy(value);
	uint64_t *rate = &((struct storage_transfer *)options)->bandwidth_bytes_per_second;

	if (!text_to_bytes(size, rate))
		return err_set(err, ERR_INVALID, "invalid rate '%s': write 100MB/s or 12.5MB/s",
			       value);
	if (*rate < BANDWIDTH_LEAST)
		return err_set(err, ERR_INVALID,
			       "'%s' is less than 1 kB/s: is the unit missing? Write 100MB/s",
			       value);
	return 0;
}

// clang-format off
const struct option_row transfer_rows[] = {
	{"memory", 0, "SIZE", "REPRIEVE_MEMORY",
		"how much memory the content on its way may take (default: 256MiB)",
		OPTION_SIZE(struct storage_transfer, memory_bytes), .least = MEMORY_LEAST},
	{"connections", 0, "N", "REPRIEVE_CONNECTIONS",
		"how many at once (default: 8 to 24 to send and 16 to read; file://: one per processor)",
		OPTION_NUMBER(struct storage_transfer, connections), .least = 1,
		.most = CONNECTIONS_MOST},
	{0},
};

const struct option_row bandwidth_rows[] = {
	{"bandwidth", 0, "RATE", "REPRIEVE_BANDWIDTH",
		"send no faster than that, as 100MB/s; not after a notice (default: no limit)",
		.set = set_bandwidth},
	{"check-content", 0, NULL, "REPRIEVE_CHECK_CONTENT",
		"read every file once, also what by its times has not changed since the last snapshot",
		OPTION_FLAG(struct storage_transfer, check_content)},
	{0},
};
// clang-format on

int retention_set_tag(void *tag, const char *value, struct err *err)
{
	static const char allowed[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";

	if (!value[0] || strlen(value) > 64 || value[strspn(value, allowed)])
		return err_set(err, ERR_INVALID,
			       "invalid tag '%s': use 1 to 64 of A-Z a-z 0-9 . _ -", value);
	*(const char **)tag = value;
	return 0;
}

static int add_tag(void *retention, const char *value, struct err *err)
{
	struct retention_rules *options = retention;

	if (options->tag_count == KEEP_TAGS_MOST)
		return err_set(err, ERR_INVALID, "more than %d tags", KEEP_TAGS_MOST);
	if (retention_set_tag(&options->tags[options->tag_count], value, err) < 0)
		return -1;
	options->tag_count++;
	return 0;
}

// clang-format off
const struct option_row retention_rows[] = {
	{"keep-last", 0, "N", "REPRIEVE_KEEP_LAST",
		"keep the newest N good snapshots (and the newest N superseded ones); what only "
		"others needed is freed a day later, or at once when the store is full",
		OPTION_NUMBER(struct retention_rules, keep_last), .most = UINT32_MAX, .common = true},
	{"keep-within", 0, "DURATION", "REPRIEVE_KEEP_WITHIN",
		"keep what is no older than that, seen from the newest one",
		OPTION_DURATION(struct retention_rules, policy.keep_within_ms), .least = 1},
	{"keep-every", 0, "STEPS", "REPRIEVE_KEEP_EVERY",
		"keep the first good one of every so many steps, and the first superseded one",
		OPTION_NUMBER(struct retention_rules, policy.keep_every), .least = 1},
	{"keep-tag", 0, "TAG", "REPRIEVE_KEEP_TAG",
		"keep what was saved with that tag; may be given several times", .set = add_tag},
	{0},
};
// clang-format on

/* --- values that are more than a number or a text --- */

static int set_restore(void *run, const char *value, struct err *err)
{
	struct job_config *options = run;

	if (text_equal(value, "latest"))
		options->restore = RESTORE_LATEST;
	else if (text_equal(value, "none"))
		options->restore = RESTORE_NONE;
	else if (snapshot_id_parse(value, &options->restore_id))
		options->restore = RESTORE_SPECIFIC;
	else
		return err_set(err, ERR_INVALID,
			       "invalid snapshot '%s': write latest, none, or an ID that `reprieve "
			       "list` shows",
			       value);
	return 0;
}

static int set_signal(void *run, const char *value, struct err *err)
{
	struct job_config *options = run;
	int number = signal_name_parse(value);

	options->signal_chosen = options->ask_chosen = true;
	if (text_equal(value, "auto"))
		options->ask = REQUEST_AUTO;
	else if (text_equal(value, "none"))
		options->ask = REQUEST_NONE;
	else if (text_equal(value, "flag"))
		options->ask = REQUEST_FLAG;
	else if (number <= 0)
		return err_set(err, ERR_INVALID,
			       "invalid signal '%s': write auto, none, flag, USR1, TERM, ...",
			       value);
	else if (number == SIGKILL || number == SIGSTOP)
		return err_set(err, ERR_INVALID,
			       "no job can catch SIG%s: write auto, none, USR1, TERM, ...",
			       number == SIGKILL ? "KILL" : "STOP");
	else {
		options->ask = REQUEST_SIGNAL;
		options->checkpoint_signal = number;
	}
	return 0;
}

static int set_command(void *run, const char *value, struct err *err)
{
	struct job_config *options = run;

	if (!*value)
		return err_set(err, ERR_INVALID, "the value is empty: write a shell command");
	options->command_chosen = options->ask_chosen = true;
	options->ask = REQUEST_COMMAND;
	options->checkpoint_command = value;
	return 0;
}

static int set_every(void *run, const char *value, struct err *err)
{
	static const struct option_row duration = {OPTION_DURATION(struct job_config, every_ms)};
	struct job_config *options = run;

	options->every_auto = text_equal(value, "auto");
	options->every_ms = 0;
	return options->every_auto ? 0 : option_row_set(&duration, options, value, err);
}

static int add_label(void *labels, const char *value, struct err *err)
{
	return labels_add(*(json_t **)labels, value, err);
}

/* What another folder reads, into what the row points at. */
#define SETTER(name, read)                                              \
	static int name(void *part, const char *value, struct err *err) \
	{                                                               \
		return read(part, value, err);                          \
	}
SETTER(add_pattern, file_patterns_add)
SETTER(add_rewrite, signal_rules_add_rewrite)
SETTER(set_parent_death, signal_rules_set_parent_death)
SETTER(add_success_code, signal_rules_add_success)

static int set_exit_policy(void *policy, const char *value, struct err *err)
{
	const struct exit_policy *found = exit_policy_find(value);
	auto_free char *names = exit_policy_names();

	if (!found)
		return err_set(err, ERR_INVALID, "invalid policy '%s': write one of %s", value,
			       names);
	*(const struct exit_policy **)policy = found;
	return 0;
}

static int set_metrics(void *address, const char *value, struct err *err)
{
	auto_free char *host = NULL;
	uint16_t port;

	*(const char **)address = value;
	return metrics_server_parse_address(value, &host, &port, err);
}

static int set_notify(void *notify, const char *value, struct err *err)
{
	const char *url = notification_url(value);

	if (strncasecmp(url, "http://", 7) != 0 && strncasecmp(url, "https://", 8) != 0)
		return err_set(err, ERR_INVALID,
			       "it is no URL of a webhook: write https://HOST/PATH, or "
			       "slack:https://HOST/PATH");
	*(const char **)notify = value;
	return 0;
}

/* --- the table of `run` --- */

#define FLUSH_LEAST_MS 1000
#define MTBF_LEAST_MS 60000
#define JOIN_LEAST_MS 1000
#define NO_PROGRESS_MOST 1000

// clang-format off
#define FLAG(member) OPTION_FLAG(struct job_config, member)
#define TEXT(member) OPTION_TEXT(struct job_config, member)
#define DURATION(member) OPTION_DURATION(struct job_config, member)
#define CHOICE(member, words) OPTION_CHOICE(struct job_config, member), .choices = (words)
#define SET(function, member) .set = (function), .at = offsetof(struct job_config, member)

static const struct option_row store_rows[] = {
	{"store", 's', "URL", "REPRIEVE_STORE",
		"where snapshots go, as file:///DIR, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or "
		"az://ACCOUNT/CONTAINER/PREFIX (default: file://$XDG_STATE_HOME/reprieve)",
		TEXT(store), .least = 1, .common = true},
	{"checkpoint-dir", 'c', "DIR", "REPRIEVE_CHECKPOINT_DIR",
		"where the job writes its checkpoints (default: checkpoints)",
		TEXT(checkpoint_dir), .least = 1, .of_one_run = true, .common = true},
	{"restore", 0, "WHICH", "REPRIEVE_RESTORE",
		"what the job starts from: latest (default); none, and what lies in the checkpoint "
		"directory stays; or the ID of a snapshot, once: started again, the same command "
		"goes on from the newest",
		.set = set_restore, .choices = "latest none", .of_one_run = true, .common = true},
	{0},
};

static const struct option_row job_rows[] = {
	{"job", 'j', "NAME", "REPRIEVE_JOB",
		"the name that one job keeps across machines (default: the scheduler's id, else "
		"made from the command)",
		TEXT(job), .of_one_run = true, .common = true},
	{"take-over", 0, NULL, "REPRIEVE_TAKE_OVER",
		"start the job also while another run of it lives on this machine, of which nothing "
		"is saved any more (default: do not start, exit 70)",
		FLAG(take_over)},
	{"max-no-progress", 0, "N", "REPRIEVE_MAX_NO_PROGRESS",
		"do not start (exit 93) when the last N attempts have saved nothing beyond the best "
		"(default: 0, no limit)",
		OPTION_NUMBER(struct job_config, max_no_progress), .most = NO_PROGRESS_MOST},
	{"gang", 0, "N", "REPRIEVE_GANG",
		"the job runs on N machines (each with a supervisor, which take and restore one "
		"snapshot together): how many; auto, as the launcher says; or off (default: as "
		"the launcher says, where that is certain and --store is given)",
		TEXT(gang), .choices = "off auto", .of_one_run = true, .common = true},
	{"member", 0, "I", "REPRIEVE_MEMBER",
		"which machine of the gang this is, from 0 (default: as the launcher says)",
		TEXT(member), .of_one_run = true},
	{"join-time", 0, "DURATION", "REPRIEVE_JOIN_TIME",
		"how long the members of a gang wait for each other before the job starts "
		"(default: 10m)",
		DURATION(join_ms), .least = JOIN_LEAST_MS},
	{"parts", 0, "WHOSE", "REPRIEVE_PARTS",
		"what a member of a gang restores: own, all (its own files, and what the others "
		"have beside them), or auto (default): all where another one has more than "
		"twice as much as it has itself, and of checkpoints that are resharded (DCP, "
		"Orbax), else own",
		CHOICE(parts, "own all auto")},
	{"on-preemption", 0, "WHAT", "REPRIEVE_ON_PREEMPTION",
		"what the other members of a gang do when one is preempted: stop (default): they "
		"save and end too, and the launcher starts all again; or continue: they save, and "
		"go on without it (an elastic job); the same for all members",
		CHOICE(goes_on_without, "stop continue")},
	{"requeue", 0, "USE", "REPRIEVE_REQUEUE",
		"whether scontrol requeues a batch job of Slurm's that is preempted and whose "
		"work is durable: auto (default) or off",
		CHOICE(requeue, "off auto")},
	{"run-identity", 0, "USE", "REPRIEVE_RUN_IDENTITY",
		"one W&B run for all attempts, where its variables are unset: on (default) or off",
		CHOICE(run_identity, "off on")},
	{0},
};

static const struct option_row notice_rows[] = {
	{"notice", 0, "LIST", "REPRIEVE_NOTICE",
		"who announces a preemption: auto, none, or some, with commas between, of aws, "
		"gcp, azure, alibaba, tencent, slurm, file:PATH (SIGTERM always does)",
		TEXT(notice), .choices = "auto none aws gcp azure alibaba tencent slurm", .common = true},
	{"deadline", 0, "TIME", "REPRIEVE_DEADLINE",
		"when the machine will be gone, if that is known: 2h, 2026-04-11T22:05:00Z, or "
		"seconds since 1970",
		TEXT(deadline), .common = true},
	{"deadline-notice", 0, "DURATION", "REPRIEVE_DEADLINE_NOTICE",
		"how long before a known end the job is asked to save (default: 120s)",
		DURATION(deadline_notice_ms)},
	{"grace", 0, "SECONDS", "REPRIEVE_GRACE",
		"time from SIGTERM to SIGKILL here, by default 30", DURATION(grace_ms), .common = true},
	{"acknowledge", 0, NULL, "REPRIEVE_ACKNOWLEDGE",
		"tell Azure that it may take the machine, once everything is durable",
		FLAG(acknowledge)},
	{0},
};

static const struct option_row request_rows[] = {
	{"profile", 0, "NAME", "REPRIEVE_PROFILE",
		"the framework that saves: auto (default), none, or a name that `reprieve explain "
		"profile` lists",
		TEXT(profile), .choices = "auto none", .names = profile_names, .common = true},
	{"checkpoint-signal", 0, "SIGNAL", "REPRIEVE_CHECKPOINT_SIGNAL",
		"what makes the job save, as USR1: TERM, ..., flag, none, or auto (default): the flag "
		"where the job polls it, else SIGTERM",
		.set = set_signal, .choices = "auto none flag USR1 USR2 TERM", .common = true},
	{"checkpoint-command", 0, "COMMAND", "REPRIEVE_CHECKPOINT_COMMAND",
		"a shell command that makes the job save", .set = set_command, .common = true},
	{"every", 0, "DURATION", "REPRIEVE_EVERY",
		"also ask for a checkpoint regularly; auto: as often as it pays",
		.set = set_every, .choices = "auto", .common = true},
	{"mtbf", 0, "DURATION", "REPRIEVE_MTBF",
		"how often a machine is lost, for --every auto (default: as earlier attempts "
		"were, at first 4h)",
		DURATION(mtbf_ms), .least = MTBF_LEAST_MS},
	{"quiet-time", 0, "DURATION", "REPRIEVE_QUIET_TIME",
		"where nothing says so earlier, a checkpoint is complete when none of its files was "
		"written for so long (default: 1s)",
		DURATION(quiet_ms)},
	{"shield", 0, "USE", "REPRIEVE_SHIELD",
		"keep SIGTERM from outside off the job until its checkpoint is taken: on "
		"(default) or off",
		CHOICE(sigterm_hold, "off on")},
	{"shim", 0, "USE", "REPRIEVE_SHIM",
		"use the preload library: auto (default), on (refuse to start without it) or off",
		CHOICE(shim, "auto on off")},
	{"watch", 0, "HOW", "REPRIEVE_WATCH",
		"how the checkpoint directory is watched: auto (default) by the kernel's events, "
		"on network file systems by looking too; poll always by both",
		CHOICE(polls, "auto poll")},
	{0},
};

static const struct option_row file_rows[] = {
	{"running", 0, "PATTERN", "REPRIEVE_RUNNING",
		"files that are written all the time: they hold no checkpoint up, and are saved "
		"with each as they are then (known: *.csv *.tsv *.jsonl *.ndjson *.log *.out "
		"*.err *.html *.wandb .git, TensorBoard's); may be given several times",
		SET(add_pattern, patterns.running), .common = true},
	{"exclude", 0, "PATTERN", "REPRIEVE_EXCLUDE",
		"files that are in no snapshot; they hold nothing up and are never moved (known: *.lock "
		"*.lck); may be given several times",
		SET(add_pattern, patterns.exclude), .common = true},
	{"include", 0, "PATTERN", "REPRIEVE_INCLUDE",
		"files of checkpoints, although their name or what is done to them says otherwise; "
		"wins over the two above; may be given several times",
		SET(add_pattern, patterns.include)},
	{0},
};

static const struct option_row upload_rows[] = {
	{"snapshot-interval", 0, "DURATION", "REPRIEVE_SNAPSHOT_INTERVAL",
		"of a job that saves more often, take at most one snapshot in this time, the "
		"newest then, and at a notice and at the end always the newest (default: 10s; 0: "
		"no limit)",
		DURATION(snapshot_interval_ms)},
	{"flush-time", 0, "DURATION", "REPRIEVE_FLUSH_TIME",
		"when the job has ended, give up on a store that has taken nothing for so long "
		"(default: 60s)",
		DURATION(flush_ms), .least = FLUSH_LEAST_MS},
	{"tag", 0, "TAG", "REPRIEVE_TAG", "a name for the snapshots of this run",
		SET(retention_set_tag, tag)},
	{0},
};

static const struct option_row report_rows[] = {
	{"exit-policy", 0, "NAME", "REPRIEVE_EXIT_POLICY",
		"exit codes as a scheduler reads them: posix (default), k8s, kubeflow, flyte, "
		"...; see `reprieve explain exit`",
		SET(set_exit_policy, exit_policy), .names = exit_policy_names, .common = true},
	{"label", 0, "NAME=VALUE", "REPRIEVE_LABELS",
		"for reports and metrics, as team=nlp; may be given several times",
		SET(add_label, labels), .common = true},
	{"metrics", 0, "ADDRESS", "REPRIEVE_METRICS",
		"serve Prometheus' metrics: /metrics, and /livez and /readyz, on 9090, :9090 (from "
		"everywhere) or HOST:PORT",
		SET(set_metrics, metrics), .of_one_run = true, .common = true},
	{"metrics-file", 0, "FILE", "REPRIEVE_METRICS_FILE",
		"write the metrics for a textfile collector, whenever something happens",
		TEXT(metrics_file), .least = 1, .of_one_run = true},
	{"notify", 0, "URL", "REPRIEVE_NOTIFY",
		"POST to a webhook: at a notice and at a preempted or failed end; slack:URL for "
		"what speaks as Slack does (a command line is read by anybody here: give a secret "
		"one as REPRIEVE_NOTIFY)",
		SET(set_notify, notify), .common = true},
	{"events", 0, "FILE", "REPRIEVE_EVENTS",
		"append what happens as JSON lines", TEXT(events), .of_one_run = true, .common = true},
	{"log", 0, "FILE", "REPRIEVE_LOG",
		"the file that the job's own output goes to (Reprieve does not write it): its last "
		"256 KiB are kept in the store unless the job finishes; report --log shows them",
		TEXT(log), .least = 1, .of_one_run = true, .common = true},
	{"termination-log", 0, "FILE", "REPRIEVE_TERMINATION_LOG",
		"why the run ended, for Kubernetes to show (default: /dev/termination-log where "
		"there is one; '': none)",
		TEXT(termination_log), .of_one_run = true},
	{0},
};

static const struct option_row process_rows[] = {
	{"forward", 0, "WHOM", "REPRIEVE_FORWARD",
		"who gets the signals that are passed on: the job's main process, job (default), "
		"or its process group, group",
		CHOICE(signal_rules.to_group, "job group")},
	{"rewrite", 0, "FROM=TO", "REPRIEVE_REWRITE",
		"a signal that comes counts as another one: INT=TERM, HUP=none; may be given "
		"several times",
		SET(add_rewrite, signal_rules)},
	{"parent-death", 0, "SIGNAL", "REPRIEVE_PARENT_DEATH",
		"the signal that counts as received when the process that started us dies: TERM, "
		"... (default: none; in a script of Slurm's that does not exec us, TERM)",
		SET(set_parent_death, signal_rules), .choices = "none TERM INT HUP"},
	{"success-code", 0, "CODE", "REPRIEVE_SUCCESS_CODE",
		"an exit code of the job that is success, as 143; may be given several times",
		SET(add_success_code, signal_rules)},
	{0},
};

static const struct option_row other_rows[] = {
	{"strict", 0, NULL, "REPRIEVE_STRICT",
		"a failure of ours is an error: do not start (78), or end with 74 instead of 0",
		FLAG(strict)},
	{"dry-run", 'n', NULL, NULL, "say what would be done, and start nothing", FLAG(dry_run), .common = true},
	{"quiet", 'q', NULL, "REPRIEVE_QUIET", "warnings and errors only",
		FLAG(quiet)},
	{"verbose", 'v', NULL, "REPRIEVE_VERBOSE", "say more", FLAG(verbose)},
	{0},
};

const struct verb verb_run = {
	.name = "run",
	.summary = "run a job so that a preemption costs no work",
	.examples = "reprieve run -- python train.py\n"
		"reprieve run --checkpoint-signal USR1 --store s3://bucket -- python train.py\n"
		"reprieve run --checkpoint-dir out/ckpt --grace 120 -- bash train.sh",
	.arguments = "-- COMMAND [ARG...]",
	.arguments_least = 1,
	.takes_command = true,
	.has_help_all = true,
	.groups = (const struct option_group[]){
		OPTION_GROUP("Store", store_rows, 0),
		OPTION_GROUP("Job", job_rows, 0),
		OPTION_GROUP("Notice", notice_rows, 0),
		OPTION_GROUP("Asking for checkpoints", request_rows, 0),
		OPTION_GROUP("Files", file_rows, 0),
		OPTION_GROUP("Upload", upload_rows, 0),
		OPTION_GROUP(NULL, transfer_rows, offsetof(struct job_config, transfer)),
		OPTION_GROUP(NULL, bandwidth_rows, offsetof(struct job_config, transfer)),
		OPTION_GROUP("Retention", retention_rows, offsetof(struct job_config, retention)),
		OPTION_GROUP("Reporting", report_rows, 0),
		OPTION_GROUP("Process", process_rows, 0),
		OPTION_GROUP("Other", other_rows, 0),
		{0},
	},
	.notes = "The snapshots that no rule of retention keeps are forgotten after each new one. "
		"If no rule is given, the newest 10 and the last of each day stay; with "
		"--keep-last 0, all.\n\n"
		"A PATTERN is one of the shell's: wandb or *.npy for a name anywhere in the "
		"checkpoint directory, a directory's with all in it; run/*.csv for a path in it. "
		"Several may be given with commas between.",
	.environment = "Every option but --dry-run has a variable: --store is REPRIEVE_STORE, and "
		"so on; --label is REPRIEVE_LABELS. The option overrides it.",
	.exits = (const struct help_row[]){
		{"70", "a failure of ours before the job could start; another start may help"},
		{"74", "asked to stop, and what the job saved last is not durable"},
		{"75", "asked to stop, and what the job saved last is durable: run it again"},
		{"78", "wrong configuration: the store or the checkpoint directory cannot be used"},
		{"93", "no progress in the last attempts (--max-no-progress)"},
		{"126, 127", "the command cannot be executed, or is not found"},
		{"any other", "the job's own: its code, or 128 + n when signal n ended it"},
		{0},
	},
};
// clang-format on

/* --- all of it --- */

static int check_one_way_to_ask(struct job_config *options, const char *signal, const char *command,
				struct err *err)
{
	if (options->signal_chosen && options->command_chosen)
		return err_set(err, ERR_INVALID,
			       "%s and %s: the job is asked in one way; leave one of them out",
			       signal, command);
	/* What the environment says, the command line may replace by the other. */
	options->signal_chosen = options->command_chosen = false;
	return 0;
}

/* SageMaker's contract: checkpoints go where the platform looks for them (peers.md 3.1). */
static const char *default_checkpoint_dir(void)
{
	return file_exists("/opt/ml/input/config/checkpointconfig.json")
		       ? "/opt/ml/checkpoints"
		       : "checkpoints";
}

enum option_result run_options_parse(int argc, char **argv, struct job_config *options,
				     struct err *err)
{
	enum option_result result;

	job_config_release(options);
	*options = (struct job_config){
		.notice = "auto",
		.profile = "auto",
		.grace_ms = 30000,
		.quiet_ms = 1000,
		.snapshot_interval_ms = 10000,
		.sigterm_hold = true,
		.run_identity = true,
		.requeue = true,
		.flush_ms = 60000,
		.join_ms = 600000,
		.parts = GANG_PARTS_AUTO,
		.retention.keep_last = -1,
		.restore = RESTORE_LATEST,
		.labels = json_object(),
	};
	if (option_table_read_environment(&verb_run, options, err) < 0 ||
	    check_one_way_to_ask(options, "REPRIEVE_CHECKPOINT_SIGNAL",
				 "REPRIEVE_CHECKPOINT_COMMAND", err) < 0)
		return OPTION_FAILED;
	result =
		option_table_read_arguments(&verb_run, argc, argv, options, &options->command, err);
	options->store_chosen = options->store;
	options->directory_chosen = options->checkpoint_dir;
	if (!options->checkpoint_dir)
		options->checkpoint_dir = default_checkpoint_dir();
	if (result == OPTION_PARSED &&
	    check_one_way_to_ask(options, "--checkpoint-signal", "--checkpoint-command", err) < 0)
		return OPTION_FAILED;
	return result;
}

/* --- what the profile adds --- */

/* A job that saves every few minutes keeps an hour, and a point to go back to for each day. */
#define KEEP_LAST_DEFAULT 10

bool retention_is_given(const struct retention_rules *rules)
{
	return rules->keep_last > 0 ||
	       (rules->keep_last < 0 && (rules->policy.keep_within_ms > 0 ||
					 rules->policy.keep_every > 0 || rules->tag_count > 0));
}

struct forget_policy retention_policy(const struct retention_rules *rules)
{
	struct forget_policy policy = rules->policy;

	if (!retention_is_given(rules))
		return (struct forget_policy){.keep_last = KEEP_LAST_DEFAULT, .keep_daily = true};
	policy.keep_last = rules->keep_last > 0 ? (uint32_t)rules->keep_last : 0;
	policy.keep_tags = rules->tags;
	policy.keep_tag_count = rules->tag_count;
	return policy;
}

void job_config_release(struct job_config *config)
{
	file_patterns_release(&config->patterns);
	json_decref(config->labels);
}

void profile_options_apply(struct job_config *options, const struct profile_choice *choice)
{
	const struct profile *profile = choice->profile;

	for (size_t i = 0; profile && profile->running[i]; i++)
		file_patterns_add(&options->patterns.running, profile->running[i], NULL);
	if (!profile || options->ask_chosen)
		return;
	if (choice->like_slurm) {
		options->ask = REQUEST_SIGNAL;
		options->checkpoint_signal = SIGUSR1;
		options->ask_like_slurm = true;
		return;
	}
	if (!choice->can_be_asked) {
		/* Its handler of SIGTERM would only cut short what may still be saved by itself. */
		if (profile->ends_unsaved)
			options->ask = REQUEST_NONE;
		return;
	}
	options->ask_ends_job = profile->after == PROFILE_AFTER_ENDS;
	/* SIGTERM is what `auto` sends, and where nobody catches it, it is
	 * forwarded as any init would. */
	if (profile->signal == SIGTERM && options->ask_ends_job)
		return;
	options->ask = REQUEST_SIGNAL;
	options->checkpoint_signal = profile->signal;
}

int profile_options_resolve(struct job_config *options, struct profile_choice *choice,
			    struct err *err)
{
	*choice = (struct profile_choice){0};
	options->checks_contents = !text_equal(options->profile, "none");
	if (!options->checks_contents)
		return 0;
	if (profile_detect(options->profile, options->command, options->checkpoint_dir, choice,
			   err) < 0)
		return err_wrap(err, "--profile");
	profile_options_apply(options, choice);
	return 0;
}

const char *profile_options_format(const struct job_config *options,
				   const struct profile_choice *choice, char *text, size_t size)
{
	const struct profile *profile = choice->profile;
	char name[SIGNAL_NAME_SIZE], *how;
	size_t room;

	text_set(text, size, "");
	if (!profile)
		return text;
	snprintf(text, size, "profile %s (%s): ", profile->name, choice->why);
	how = text + strlen(text);
	room = size - strlen(text);
	if (options->ask == REQUEST_COMMAND)
		snprintf(how, room, "asked by --checkpoint-command");
	else if (options->ask_chosen && options->ask == REQUEST_SIGNAL)
		snprintf(how, room, "asked with %s, as --checkpoint-signal says",
			 signal_name_format(options->checkpoint_signal, name));
	else if (options->ask_chosen && options->ask == REQUEST_NONE)
		snprintf(how, room, "not asked, as --checkpoint-signal says");
	else if (choice->polls)
		snprintf(how, room, "asked by the flag that its reprieve.py polls");
	else if (options->ask_like_slurm)
		snprintf(how, room,
			 "asked with SIGUSR1, as Slurm would; it saves hpc_ckpt_N.ckpt, goes on, "
			 "and resumes from it");
	else if (!choice->can_be_asked)
		snprintf(how, room,
			 "it cannot be asked for a checkpoint, its periodic ones count; %s",
			 profile->ask_note);
	else if (choice->handler_unseen)
		snprintf(how, room,
			 "no handler for %s is seen in the script: unless a module has one, it "
			 "cannot be asked for a checkpoint, and its periodic ones count",
			 signal_name_format(profile->signal, name));
	else
		snprintf(how, room, "asked with %s; %s%s",
			 signal_name_format(profile->signal, name), profile->ask_note,
			 profile->script_handles ? ", else its periodic checkpoints count" : "");
	return text;
}
