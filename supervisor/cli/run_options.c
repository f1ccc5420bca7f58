#include "run_options.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "run_option_table.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_indented(const char *left, const char *help)
{
	const char *more = strchr(help, '\n');

	printf("  %-32s %.*s\n", left, more ? (int)(more - help) : (int)strlen(help), help);
	if (more)
		printf("  %-32s %s\n", "", more + 1);
}

static void print_help(void)
{
	printf("Run a job so that a preemption costs no work.\n\n"
	       "  reprieve run -- python train.py\n"
	       "  reprieve run --checkpoint-signal USR1 --store file:///mnt/share/runs -- python "
	       "train.py\n"
	       "  reprieve run --checkpoint-dir out/ckpt --grace 120 -- bash train.sh\n\n"
	       "Usage: reprieve run [options] -- COMMAND [ARG...]\n\n");
	for (size_t i = 0; i < run_option_count; i++) {
		char left[64];

		snprintf(left, sizeof(left), "%c%c --%s%s%s",
			 run_option_table[i].letter ? '-' : ' ',
			 run_option_table[i].letter ? run_option_table[i].letter : ' ',
			 run_option_table[i].name, run_option_table[i].value ? " " : "",
			 run_option_table[i].value ? run_option_table[i].value : "");
		print_indented(left, run_option_table[i].help);
	}
	printf("\nEvery option but --dry-run has an environment variable: --store is "
	       "REPRIEVE_STORE, "
	       "and so on.\n"
	       "Exit status: the job's own; 75 preempted and durable; 74 preempted, newest work "
	       "not durable;\n"
	       "64 usage; 70 our own failure before the start; 78 configuration; 93 no progress; "
	       "126, 127 as shells do.\n");
}

static int set_option(const struct run_option *row, struct job_config *options, const char *value,
		      const char *spelled, struct err *err)
{
	if (row->set(options, value, err) < 0)
		return err_wrap(err, "%s", spelled);
	return 0;
}

static int check_request_options(struct job_config *options, const char *signal,
				 const char *command, struct err *err)
{
	if (options->signal_chosen && options->command_chosen)
		return err_set(err, ERR_INVALID,
			       "%s and %s: the job is asked in one way; leave one of them out",
			       signal, command);
	/* What the environment says, the command line may replace by the other. */
	options->signal_chosen = options->command_chosen = false;
	return 0;
}

static int read_environment(struct job_config *options, struct err *err)
{
	for (size_t i = 0; i < run_option_count; i++) {
		const char *value =
			run_option_table[i].variable ? getenv(run_option_table[i].variable) : NULL;

		if (value && *value &&
		    set_option(&run_option_table[i], options, value, run_option_table[i].variable,
			       err) < 0)
			return -1;
	}
	return check_request_options(options, "REPRIEVE_CHECKPOINT_SIGNAL",
				     "REPRIEVE_CHECKPOINT_COMMAND", err);
}

static void fill_getopt(struct option *longs, char *shorts)
{
	char *at = shorts;

	*at++ = '+'; /* stop at the first word that is no option: it is the command */
	*at++ = ':';
	for (size_t i = 0; i < run_option_count; i++) {
		longs[i] = (struct option){
			.name = run_option_table[i].name,
			.has_arg = run_option_table[i].value ? required_argument : no_argument,
			.val = 1000 + (int)i,
		};
		if (!run_option_table[i].letter)
			continue;
		*at++ = run_option_table[i].letter;
		if (run_option_table[i].value)
			*at++ = ':';
	}
	longs[run_option_count] = (struct option){.name = "help", .val = 'h'};
	longs[run_option_count + 1] = (struct option){0};
	*at++ = 'h';
	*at = '\0';
}

static const struct run_option *find_option(int found)
{
	if (found >= 1000)
		return &run_option_table[found - 1000];
	for (size_t i = 0; i < run_option_count; i++)
		if (run_option_table[i].letter == found)
			return &run_option_table[i];
	return NULL;
}

const char *run_options_missing_value(int found, char *const *argv)
{
	if (found == ':')
		return argv[optind - 1];
	return optarg && optarg == argv[optind - 1] && text_equal(optarg, "--")
		       ? argv[optind - 2]
		       : NULL;
}

static int read_arguments(int argc, char **argv, struct job_config *options, bool *help,
			  struct err *err)
{
	struct option longs[RUN_OPTIONS_MOST + 2];
	char shorts[2 * RUN_OPTIONS_MOST + 4];
	int found;

	fill_getopt(longs, shorts);
	opterr = 0;
	optind = 0; /* glibc: start anew, whatever was parsed before */
	while ((found = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		const struct run_option *row = find_option(found);
		const char *spelled = argv[optind - 1];
		char name[64];

		if (found == 'h') {
			*help = true;
			print_help();
			return 0;
		}
		if (run_options_missing_value(found, argv))
			return err_set(err, ERR_INVALID,
				       "option '%s' needs a value: see `reprieve run --help`",
				       run_options_missing_value(found, argv));
		if (!row)
			return err_set(err, ERR_INVALID,
				       "unknown option '%s': see `reprieve run --help`",
				       optopt && optopt < 1000 ? (char[3]){'-', (char)optopt, '\0'}
							       : spelled);
		snprintf(name, sizeof(name), "--%s", row->name);
		if (set_option(row, options, row->value ? optarg : "1", name, err) < 0)
			return -1;
	}
	options->command = argv + optind;
	if (!options->command[0])
		return err_set(err, ERR_INVALID,
			       "no command: write it last, as in `reprieve run -- python "
			       "train.py`");
	return check_request_options(options, "--checkpoint-signal", "--checkpoint-command", err);
}

int run_options_parse(int argc, char **argv, struct job_config *options, bool *help,
		      struct err *err)
{
	*help = false;
	*options = (struct job_config){
		.checkpoint_dir = "checkpoints",
		.notice = "auto",
		.profile = "auto",
		.grace_ms = 30000,
		.quiet_ms = 1000,
		.sigterm_hold = true,
		.run_identity = true,
		.requeue = true,
		.flush_ms = 60000,
		.restore = RESTORE_LATEST,
	};
	/* SageMaker's contract: checkpoints go where the platform looks for them (peers.md 3.1). */
	if (file_exists("/opt/ml/input/config/checkpointconfig.json"))
		options->checkpoint_dir = "/opt/ml/checkpoints";
	if (read_environment(options, err) < 0)
		return -1;
	return read_arguments(argc, argv, options, help, err);
}

char *run_options_default_store(struct err *err)
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
