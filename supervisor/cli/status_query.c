#include "status_query.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"

#include <unistd.h>

#define STATUS_TIMEOUT_MS 5000
#define ENDING_MS 1000 /* from the last word of a supervisor to its end */

/* One that ends while it is asked is none of those that run here. */
static bool has_just_ended(const char *directory)
{
	int64_t until = clock_monotonic_ms() + ENDING_MS;

	while (session_is_alive(directory)) {
		if (clock_left_ms(until) <= 0)
			return false;
		usleep(10000);
	}
	return true;
}

static bool query_session(void *arg, const struct session_info *info)
{
	struct status_query *query = arg;
	const char *what = query->checkpoints ? "checkpoints" : "status";
	auto_json json_t *answer = NULL;
	struct err err;

	if (query->job && !text_equal(query->job, info->job))
		return true;
	if (query->is_over && query->is_over(query->arg, info))
		return true;
	if (control_client_query(info->directory, what, STATUS_TIMEOUT_MS, &answer, &err) == 0) {
		query->answered(query->arg, info, answer);
	} else if (has_just_ended(info->directory)) {
		return true;
	} else {
		if (!query->failed || !query->says_once)
			log_error("status: %s (pid %d): %s", info->job, (int)info->pid, err.text);
		query->failed = true;
	}
	query->found++;
	return true;
}

void status_query_run(struct status_query *query)
{
	query->found = 0;
	session_each(query_session, query);
}
