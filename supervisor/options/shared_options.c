#include "shared_options.h"

#include "base/text.h"

#include <stdlib.h>

struct json_option {
	bool json;
};

struct running_job_option {
	const char *job;
};

const struct option_row json_rows[] = {
	{"json", 0, NULL, NULL, "print JSON", OPTION_FLAG(struct json_option, json)},
	{0},
};

const struct option_row running_job_rows[] = {
	{"job", 'j', "NAME", NULL, "which job, where several run here under this user",
	 OPTION_TEXT(struct running_job_option, job), .least = 1},
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
