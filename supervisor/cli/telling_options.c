#include "telling_options.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "scheduler/scheduler.h"
#include "telemetry/telemetry.h"

#include <stdlib.h>

int run_option_set_exit_policy(struct job_config *options, const char *value, struct err *err)
{
	auto_free char *names = NULL;

	options->exit_policy = exit_policy_find(value);
	if (options->exit_policy)
		return 0;
	names = exit_policy_names();
	return err_set(err, ERR_INVALID, "'%s' is none of %s", value, names);
}

int run_option_set_metrics(struct job_config *options, const char *value, struct err *err)
{
	auto_free char *host = NULL;
	uint16_t port;

	options->metrics = value;
	return metrics_server_parse_address(value, &host, &port, err);
}

int run_option_set_metrics_file(struct job_config *options, const char *value, struct err *err)
{
	if (!*value)
		return err_set(err, ERR_INVALID, "it is empty: name a file");
	options->metrics_file = value;
	return 0;
}

int run_option_set_notify(struct job_config *options, const char *value, struct err *err)
{
	const char *url = notification_url(value);

	if (!text_starts(url, "http://") && !text_starts(url, "https://"))
		return err_set(err, ERR_INVALID,
			       "it is no URL of a webhook: write https://HOST/PATH, or "
			       "slack:https://HOST/PATH");
	options->notify = value;
	return 0;
}

int run_option_set_log(struct job_config *options, const char *value, struct err *err)
{
	if (!*value)
		return err_set(err, ERR_INVALID, "it is empty: name a file");
	options->log = value;
	return 0;
}

int run_option_add_label(struct job_config *options, const char *value, struct err *err)
{
	if (labels_check(value, err) < 0)
		return -1;
	if (options->label_count == LABELS_MOST)
		return err_set(err, ERR_INVALID, "more than %d: put several into one, a=1,b=2",
			       LABELS_MOST);
	options->labels[options->label_count++] = value;
	return 0;
}

int run_option_set_termination_log(struct job_config *options, const char *value, struct err *err)
{
	(void)err;
	options->termination_log = value;
	return 0;
}
