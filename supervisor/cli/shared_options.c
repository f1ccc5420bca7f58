#include "shared_options.h"

#include "base/text.h"
#include "storage_price.h"

#include <stdlib.h>

struct json_option {
	bool json;
};

struct running_job_option {
	const char *job;
};

static int set_price(void *price, const char *value, struct err *err)
{
	if (!storage_price_parse(value, price))
		return err_set(err, ERR_INVALID,
			       "invalid price '%s': write USD per GB and month, as 0.023", value);
	return 0;
}

const struct option_row json_rows[] = {
	{"json", 0, NULL, NULL, "print JSON", OPTION_FLAG(struct json_option, json)},
	{0},
};

const struct option_row running_job_rows[] = {
	{"job", 'j', "NAME", NULL, "which job, where several run here under this user",
	 OPTION_TEXT(struct running_job_option, job)},
	{0},
};

const struct option_row price_rows[] = {
	{"price", 0, "USD", NULL, "per GB and month (default: the list price on s3, gs and az)",
	 .set = set_price},
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
	err_set(err, ERR_NOT_FOUND,
		"neither HOME nor XDG_STATE_HOME is set: choose a place with --store");
	return NULL;
}
