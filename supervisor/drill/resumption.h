/*
 * PURE. Did the job go on from the checkpoint that was restored? Only what is seen proves it: the
 * files that it opened, and the count that goes on. A lack of both is no pass.
 */
#ifndef RESUMPTION_H
#define RESUMPTION_H

#include "continuation.h"
#include "opened_files.h"

enum drill_result {
	DRILL_PASS,
	DRILL_FAIL,
	DRILL_UNPROVEN,
	DRILL_NOT_RUN, /* the command is not there, or is no program */
};

/* "PASS" */
const char *drill_result_name(enum drill_result result);

struct resumption_facts {
	struct continuation_facts continuation;
	struct reading_facts reading;
	bool replayed; /* its first lines are those that were printed after the save */
	int failed;    /* the job ended by itself with this on the next machine; 0: it did not */
};

struct resumption {
	enum drill_result result;
	char reason[400]; /* why it has not passed, and what would prove it; "": it has */
	char proof[400];  /* what was seen; "": nothing */
};

struct resumption resumption_judge(const struct resumption_facts *facts);

#endif
