#include "options.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "signal_name.h"

#include <ctype.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int set_fn(struct run_options *options, const char *value, struct err *err);

static int set_store(struct run_options *options, const char *value, struct err *err)
{
	(void)err;
	options->store = value;
	options->store_chosen = true;
	return 0;
}

static int set_directory(struct run_options *options, const char *value, struct err *err)
{
	if (!*value)
		return err_set(err, ERR_INVALID, "it is empty: name a directory");
	options->checkpoint_dir = value;
	options->directory_chosen = true;
	return 0;
}

static int set_job(struct run_options *options, const char *value, struct err *err)
{
	(void)err;
	options->job = value;
	return 0;
}

static int set_notice(struct run_options *options, const char *value, struct err *err)
{
	(void)err; /* cloud.h knows the names, and says which one it does not know */
	options->notice = value;
	return 0;
}

static int set_duration(const char *value, int64_t *milliseconds, struct err *err)
{
	if (!text_to_duration_ms(value, milliseconds))
		return err_set(
			err, ERR_INVALID, "'%s' is no duration: write 30, 90s, 15m or 2h", value);
	return 0;
}

static int set_grace(struct run_options *options, const char *value, struct err *err)
{
	return set_duration(value, &options->grace_ms, err);
}

static int set_quiet_time(struct run_options *options, const char *value, struct err *err)
{
	return set_duration(value, &options->quiet_ms, err);
}

static int set_every(struct run_options *options, const char *value, struct err *err)
{
	return set_duration(value, &options->every_ms, err);
}

static int set_profile(struct run_options *options, const char *value, struct err *err)
{
	(void)err; /* profile_search.h knows the names, and says which one it does not know */
	options->profile = value;
	return 0;
}

static int set_signal(struct run_options *options, const char *value, struct err *err)
{
	int number;

	options->ask_chosen = true;
	if (text_equal(value, "auto")) {
		options->ask = ASK_AUTO;
		return 0;
	}
	if (text_equal(value, "none")) {
		options->ask = ASK_NONE;
		return 0;
	}
	if (text_equal(value, "flag")) {
		options->ask = ASK_FLAG;
		return 0;
	}
	number = signal_name_parse(value);
	if (number <= 0)
		return err_set(err, ERR_INVALID,
			"'%s' is no signal: write auto, none, flag, USR1, TERM, ...", value);
	options->ask = ASK_SIGNAL;
	options->checkpoint_signal = number;
	return 0;
}

static int set_command(struct run_options *options, const char *value, struct err *err)
{
	if (!*value)
		return err_set(err, ERR_INVALID, "it is empty: write a shell command");
	options->ask = ASK_COMMAND;
	options->ask_chosen = true;
	options->checkpoint_command = value;
	return 0;
}

static int set_restore(struct run_options *options, const char *value, struct err *err)
{
	if (text_equal(value, "latest"))
		options->restore = RESTORE_LATEST;
	else if (text_equal(value, "none"))
		options->restore = RESTORE_NONE;
	else if (snapshot_id_parse(value, &options->restore_id))
		options->restore = RESTORE_THIS;
	else
		return err_set(err, ERR_INVALID,
			"'%s' is no snapshot: write latest, none, or an ID that `reprieve list` "
			"shows",
			value);
	return 0;
}

static int set_keep_last(struct run_options *options, const char *value, struct err *err)
{
	return retention_set_last(&options->retention, value, err);
}

static int set_keep_within(struct run_options *options, const char *value, struct err *err)
{
	return retention_set_within(&options->retention, value, err);
}

static int set_keep_every(struct run_options *options, const char *value, struct err *err)
{
	return retention_set_every(&options->retention, value, err);
}

static int add_keep_tag(struct run_options *options, const char *value, struct err *err)
{
	return retention_add_tag(&options->retention, value, err);
}

static int set_tag(struct run_options *options, const char *value, struct err *err)
{
	options->tag = value;
	return retention_check_tag(value, err);
}

static int set_shim(struct run_options *options, const char *value, struct err *err)
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

static int set_shield(struct run_options *options, const char *value, struct err *err)
{
	if (!text_equal(value, "on") && !text_equal(value, "off"))
		return err_set(err, ERR_INVALID, "'%s' is neither on nor off", value);
	options->shield = text_equal(value, "on");
	return 0;
}

static int set_events(struct run_options *options, const char *value, struct err *err)
{
	(void)err;
	options->events = value;
	return 0;
}

/* A flag's value is "1" on the command line; in the environment "0", "no", "false" and "off" turn it off. */
static bool is_true(const char *value)
{
	static const char *const off[] = {"", "0", "no", "false", "off"};

	for (size_t i = 0; i < sizeof(off) / sizeof(off[0]); i++)
		if (text_equal(value, off[i]))
			return false;
	return true;
}

static int set_strict(struct run_options *options, const char *value, struct err *err)
{
	(void)err;
	options->strict = is_true(value);
	return 0;
}

static int set_dry_run(struct run_options *options, const char *value, struct err *err)
{
	(void)err;
	options->dry_run = is_true(value);
	return 0;
}

static int set_quiet(struct run_options *options, const char *value, struct err *err)
{
	(void)err;
	options->verbosity = is_true(value) ? -1 : 0;
	return 0;
}

static int set_verbose(struct run_options *options, const char *value, struct err *err)
{
	(void)err;
	options->verbosity = is_true(value) ? 1 : 0;
	return 0;
}

// clang-format off
static const struct option_row {
	const char *name;
	char letter;
	const char *value; /* what it takes, for the help; NULL: a flag */
	const char *variable;
	set_fn *set;
	const char *help;
} rows[] = {
	{"store", 's', "URL", "REPRIEVE_STORE", set_store,
		"where snapshots go: file:///dir (default: file://$XDG_STATE_HOME/reprieve)"},
	{"checkpoint-dir", 'c', "DIR", "REPRIEVE_CHECKPOINT_DIR", set_directory,
		"where the job writes its checkpoints (default: checkpoints)"},
	{"job", 'j', "NAME", "REPRIEVE_JOB", set_job,
		"the name that one job keeps across machines (default: the scheduler's id, else from the command)"},
	{"notice", 0, "LIST", "REPRIEVE_NOTICE", set_notice,
		"who announces a preemption: auto, none, or some of aws,gcp,azure,file:PATH (SIGTERM always does)"},
	{"grace", 0, "SECONDS", "REPRIEVE_GRACE", set_grace,
		"time from SIGTERM to SIGKILL here (default: 30)"},
	{"profile", 0, "NAME", "REPRIEVE_PROFILE", set_profile,
		"the framework that saves: auto (default), none, or a name that `reprieve explain profile` lists"},
	{"checkpoint-signal", 0, "SIGNAL", "REPRIEVE_CHECKPOINT_SIGNAL", set_signal,
		"what makes the job save: USR1, TERM, ..., flag, none, or auto: the flag where the job polls it, else SIGTERM (default)"},
	{"checkpoint-command", 0, "COMMAND", "REPRIEVE_CHECKPOINT_COMMAND", set_command,
		"a shell command that makes the job save"},
	{"every", 0, "DURATION", "REPRIEVE_EVERY", set_every,
		"also ask for a checkpoint regularly"},
	{"quiet-time", 0, "DURATION", "REPRIEVE_QUIET_TIME", set_quiet_time,
		"a checkpoint is complete when nothing was written for so long (default: 1s)"},
	{"restore", 0, "WHICH", "REPRIEVE_RESTORE", set_restore,
		"latest (default), none, or the ID of a snapshot"},
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
	{"shield", 0, "USE", "REPRIEVE_SHIELD", set_shield,
		"on (default): SIGTERM from outside reaches the job when its checkpoint is taken; off: at once"},
	{"strict", 0, NULL, "REPRIEVE_STRICT", set_strict,
		"a failure of ours is an error: refuse to start, and end with 74"},
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

#define ROWS (sizeof(rows) / sizeof(rows[0]))

static void print_help(void)
{
	printf("Run a job so that a preemption costs no work.\n\n"
	       "  reprieve run -- python train.py\n"
	       "  reprieve run --checkpoint-signal USR1 --store file:///mnt/share/runs -- python "
	       "train.py\n"
	       "  reprieve run --checkpoint-dir out/ckpt --grace 120 -- bash train.sh\n\n"
	       "Usage: reprieve run [options] -- COMMAND [ARG...]\n\n");
	for (size_t i = 0; i < ROWS; i++) {
		char left[64];

		snprintf(left, sizeof(left), "%c%c --%s%s%s", rows[i].letter ? '-' : ' ',
			rows[i].letter ? rows[i].letter : ' ', rows[i].name,
			rows[i].value ? " " : "", rows[i].value ? rows[i].value : "");
		printf("  %-32s %s\n", left, rows[i].help);
	}
	printf("\nEvery option has an environment variable: --store is REPRIEVE_STORE, and so on.\n"
	       "Exit status: the job's own; 75 preempted and durable; 74 preempted, newest work "
	       "not durable;\n"
	       "64 usage; 70 our own failure before the start; 78 configuration; 126, 127 as "
	       "shells do.\n");
}

static int set_row(const struct option_row *row, struct run_options *options, const char *value,
	const char *spelled, struct err *err)
{
	if (row->set(options, value, err) < 0)
		return err_wrap(err, "%s", spelled);
	return 0;
}

static int read_environment(struct run_options *options, struct err *err)
{
	for (size_t i = 0; i < ROWS; i++) {
		const char *value = rows[i].variable ? getenv(rows[i].variable) : NULL;

		if (value && *value && set_row(&rows[i], options, value, rows[i].variable, err) < 0)
			return -1;
	}
	return 0;
}

static void fill_getopt(struct option *longs, char *shorts)
{
	char *at = shorts;

	*at++ = '+'; /* stop at the first word that is no option: it is the command */
	*at++ = ':';
	for (size_t i = 0; i < ROWS; i++) {
		longs[i] = (struct option){.name = rows[i].name,
			.has_arg = rows[i].value ? required_argument : no_argument,
			.val = 1000 + (int)i};
		if (!rows[i].letter)
			continue;
		*at++ = rows[i].letter;
		if (rows[i].value)
			*at++ = ':';
	}
	longs[ROWS] = (struct option){.name = "help", .val = 'h'};
	longs[ROWS + 1] = (struct option){0};
	*at++ = 'h';
	*at = '\0';
}

static const struct option_row *row_of(int found)
{
	if (found >= 1000)
		return &rows[found - 1000];
	for (size_t i = 0; i < ROWS; i++)
		if (rows[i].letter == found)
			return &rows[i];
	return NULL;
}

static int read_arguments(
	int argc, char **argv, struct run_options *options, bool *help, struct err *err)
{
	struct option longs[ROWS + 2];
	char shorts[2 * ROWS + 4];
	int found;

	fill_getopt(longs, shorts);
	opterr = 0;
	optind = 0; /* glibc: start anew, whatever was parsed before */
	while ((found = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		const struct option_row *row = row_of(found);
		const char *spelled = argv[optind - 1];
		char name[64];

		if (found == 'h') {
			*help = true;
			print_help();
			return 0;
		}
		if (found == ':')
			return err_set(err, ERR_INVALID,
				"option '%s' needs a value: see `reprieve run --help`", spelled);
		if (!row)
			return err_set(err, ERR_INVALID,
				"unknown option '%s': see `reprieve run --help`",
				optopt && optopt < 1000 ? (char[3]){'-', (char)optopt, '\0'}
							: spelled);
		snprintf(name, sizeof(name), "--%s", row->name);
		if (set_row(row, options, row->value ? optarg : "1", name, err) < 0)
			return -1;
	}
	options->command = argv + optind;
	if (!options->command[0])
		return err_set(err, ERR_INVALID,
			"no command: write it last, as in `reprieve run -- python train.py`");
	return 0;
}

int options_parse_run(
	int argc, char **argv, struct run_options *options, bool *help, struct err *err)
{
	*help = false;
	*options = (struct run_options){
		.checkpoint_dir = "checkpoints",
		.notice = "auto",
		.profile = "auto",
		.grace_ms = 30000,
		.quiet_ms = 1000,
		.shield = true,
		.restore = RESTORE_LATEST,
	};
	/* SageMaker's contract: checkpoints go where the platform looks for them (peers.md 3.1). */
	if (file_exists("/opt/ml/input/config/checkpointconfig.json"))
		options->checkpoint_dir = "/opt/ml/checkpoints";
	if (read_environment(options, err) < 0)
		return -1;
	return read_arguments(argc, argv, options, help, err);
}

char *options_default_store(struct err *err)
{
	const char *state = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");

	if (state && state[0] == '/')
		return text_format("file://%s/reprieve", state);
	if (home && home[0] == '/')
		return text_format("file://%s/.local/state/reprieve", home);
	err_set(err, ERR_NOT_FOUND,
		"neither HOME nor XDG_STATE_HOME is set: choose a place with --store");
	return NULL;
}
