#include "run_option_values.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "job_config.h"
#include "option_table.h"
#include "process/process.h"
#include "scheduler/scheduler.h"
#include "telemetry/telemetry.h"
#include "workspace/workspace.h"

#include <signal.h>
#include <strings.h>

int run_option_set_restore(void *run, const char *value, struct err *err)
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

int run_option_set_deadline(void *deadline, const char *value, struct err *err)
{
	(void)err; /* cloud.h knows the forms */
	*(const char **)deadline = *value ? value : NULL;
	return 0;
}

int run_option_set_signal(void *run, const char *value, struct err *err)
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

int run_option_set_command(void *run, const char *value, struct err *err)
{
	struct job_config *options = run;

	if (!*value)
		return err_set(err, ERR_INVALID, "the value is empty: write a shell command");
	options->command_chosen = options->ask_chosen = true;
	options->ask = REQUEST_COMMAND;
	options->checkpoint_command = value;
	return 0;
}

int run_option_set_every(void *run, const char *value, struct err *err)
{
	static const struct option_row duration = {OPTION_DURATION(struct job_config, every_ms)};
	struct job_config *options = run;

	options->every_auto = text_equal(value, "auto");
	options->every_ms = 0;
	return options->every_auto ? 0 : option_row_set(&duration, options, value, err);
}

static int set_verbosity(int *verbosity, int chosen, const char *value, struct err *err)
{
	static const struct option_row flag = {.kind = OPTION_KIND_FLAG, .size = sizeof(bool)};
	bool on = false;

	if (option_row_set(&flag, &on, value, err) < 0)
		return -1;
	*verbosity = on ? chosen : 0;
	return 0;
}

int run_option_set_quiet(void *verbosity, const char *value, struct err *err)
{
	return set_verbosity(verbosity, -1, value, err);
}

int run_option_set_verbose(void *verbosity, const char *value, struct err *err)
{
	return set_verbosity(verbosity, 1, value, err);
}

int run_option_add_label(void *labels, const char *value, struct err *err)
{
	return labels_add(*(json_t **)labels, value, err);
}

int run_option_add_running(void *patterns, const char *value, struct err *err)
{
	return file_patterns_add_running(patterns, value, err);
}

int run_option_add_exclude(void *patterns, const char *value, struct err *err)
{
	return file_patterns_add_exclude(patterns, value, err);
}

int run_option_add_include(void *patterns, const char *value, struct err *err)
{
	return file_patterns_add_include(patterns, value, err);
}

int run_option_set_exit_policy(void *policy, const char *value, struct err *err)
{
	const struct exit_policy *found = exit_policy_find(value);
	auto_free char *names = exit_policy_names();

	if (!found)
		return err_set(err, ERR_INVALID, "invalid policy '%s': write one of %s", value,
			       names);
	*(const struct exit_policy **)policy = found;
	return 0;
}

int run_option_set_metrics(void *address, const char *value, struct err *err)
{
	auto_free char *host = NULL;
	uint16_t port;

	*(const char **)address = value;
	return metrics_server_parse_address(value, &host, &port, err);
}

int run_option_set_notify(void *notify, const char *value, struct err *err)
{
	const char *url = notification_url(value);

	if (strncasecmp(url, "http://", 7) != 0 && strncasecmp(url, "https://", 8) != 0)
		return err_set(err, ERR_INVALID,
			       "it is no URL of a webhook: write https://HOST/PATH, or "
			       "slack:https://HOST/PATH");
	*(const char **)notify = value;
	return 0;
}

int run_option_add_rewrite(void *signal_rules, const char *value, struct err *err)
{
	return signal_rules_add_rewrite(signal_rules, value, err);
}

int run_option_set_parent_death(void *signal_rules, const char *value, struct err *err)
{
	return signal_rules_set_parent_death(signal_rules, value, err);
}

int run_option_add_success_code(void *signal_rules, const char *value, struct err *err)
{
	return signal_rules_add_success(signal_rules, value, err);
}
