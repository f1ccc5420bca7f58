/* PURE. Has the drill passed? From the verdicts of its rounds (round_verdict.h), the last machine's
 * end, the comparison, and what may have spoilt all of it. VERDICTS.md has the table. */
#ifndef VERDICT_H
#define VERDICT_H

#include "resumption.h"
#include "written_files.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum comparison {
	COMPARISON_NOT_ASKED,
	COMPARISON_EQUAL,
	COMPARISON_DIFFERENT,
	COMPARISON_MISSING_UNDISTURBED, /* the run without a preemption did not write the file */
	COMPARISON_MISSING,             /* the preempted one did not */
	COMPARISON_NOT_MADE,            /* the last run did not take place */
};

/* Of the files that were compared, in bytes. */
struct compared_sizes {
	uint64_t undisturbed, preempted;
};

struct drill_facts {
	unsigned rounds_wanted;
	unsigned rounds_done;
	unsigned rounds_passed;
	unsigned rounds_unproven;
	int command_exit;    /* 126, 127: the command could not be run at all; 0: it could */
	const char *command; /* its first word; NULL: not known */
	bool timed_out;      /* --timeout */
	/* what machines have written in the user's own directory; "": nothing */
	const char *shared;
	enum users_way shared_way;
	/* what no machine has, for want of room, so that a failure refutes nothing; NULL or "":
	 * they have all */
	const char *left_out;
	int undisturbed_exit; /* of the undisturbed run; 0 if there is none */
	bool last_ran;        /* the last machine has run the job to its end */
	int last_exit;
	enum comparison comparison;
};

/* The whole drill. If it has not passed, `reason` (may be NULL) gets the first cause. */
enum drill_result verdict_drill(const struct drill_facts *facts, char *reason, size_t capacity);

#endif
