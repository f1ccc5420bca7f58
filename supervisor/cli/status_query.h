/* Asks the supervisors that run here under this user what their jobs are doing. */
#ifndef STATUS_QUERY_H
#define STATUS_QUERY_H

#include "control/control.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct status_query {
	const char *job; /* NULL: all */
	bool checkpoints;
	/* NULL, or: not asked, because its job is known to be over */
	bool (*is_over)(void *arg, const struct session_info *info);
	void (*answered)(void *arg, const struct session_info *info, json_t *answer);
	void *arg;
	bool says_once; /* if none answers, time after time */
	size_t found;   /* that are there, whether they answer or not */
	bool failed;    /* one of them does not answer, which is logged */
};

/* Sets `found` anew, and `failed` if need be. Blocks for some seconds for each that does not
 * answer.
 */
void status_query_run(struct status_query *query);

#endif
