#include "asking_options.h"

#include "base/text.h"
#include "process/process.h"
#include "run_option_table.h"

#include <signal.h>

#define MTBF_LEAST_MS 60000

int run_option_set_profile(struct job_config *options, const char *value, struct err *err)
{
	(void)err; /* profile_detect.h knows the names, and says which one it does not know */
	options->profile = value;
	return 0;
}

int run_option_set_signal(struct job_config *options, const char *value, struct err *err)
{
	int number;

	options->signal_chosen = options->ask_chosen = true;
	if (text_equal(value, "auto")) {
		options->ask = REQUEST_AUTO;
		return 0;
	}
	if (text_equal(value, "none")) {
		options->ask = REQUEST_NONE;
		return 0;
	}
	if (text_equal(value, "flag")) {
		options->ask = REQUEST_FLAG;
		return 0;
	}
	number = signal_name_parse(value);
	if (number <= 0)
		return err_set(err, ERR_INVALID,
			       "'%s' is no signal: write auto, none, flag, USR1, TERM, ...", value);
	if (number == SIGKILL || number == SIGSTOP)
		return err_set(err, ERR_INVALID,
			       "no job can catch SIG%s: write auto, none, USR1, TERM, ...",
			       number == SIGKILL ? "KILL" : "STOP");
	options->ask = REQUEST_SIGNAL;
	options->checkpoint_signal = number;
	return 0;
}

int run_option_set_command(struct job_config *options, const char *value, struct err *err)
{
	if (!*value)
		return err_set(err, ERR_INVALID, "it is empty: write a shell command");
	options->command_chosen = options->ask_chosen = true;
	options->ask = REQUEST_COMMAND;
	options->checkpoint_command = value;
	return 0;
}

int run_option_set_every(struct job_config *options, const char *value, struct err *err)
{
	options->every_auto = text_equal(value, "auto");
	options->every_ms = 0;
	if (options->every_auto)
		return 0;
	return run_option_parse_duration(value, &options->every_ms, err);
}

int run_option_set_mtbf(struct job_config *options, const char *value, struct err *err)
{
	if (run_option_parse_duration(value, &options->mtbf_ms, err) < 0)
		return -1;
	if (options->mtbf_ms < MTBF_LEAST_MS)
		return err_set(err, ERR_INVALID, "'%s' is too short: write 1m or more", value);
	return 0;
}

int run_option_set_quiet_time(struct job_config *options, const char *value, struct err *err)
{
	return run_option_parse_duration(value, &options->quiet_ms, err);
}
