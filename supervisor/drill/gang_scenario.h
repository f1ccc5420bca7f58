/*
 * Plays the drill of a gang: starts all members, each on a machine of its own, takes one machine
 * away after a notice, lets the others end, and starts all again, that one with an empty disk; the
 * last start is left alone. It collects facts; gang_verdict.c judges them.
 */
#ifndef GANG_SCENARIO_H
#define GANG_SCENARIO_H

#include "base/cleanup.h"
#include "base/err.h"
#include "evidence.h"
#include "gang_verdict.h"
#include "sandbox.h"
#include "verdict.h"

struct gang_scenario {
	const struct scenario_options *options;
	struct sandbox sandbox;
	int signal; /* ended the drill early; 0: none */

	/* One for each member; `starting` of them live. */
	struct instance *instances;
	struct mock **mocks;
	char **variables;
	char **disks; /* NULL: a new one is needed */
	struct evidence *evidence;
	uint32_t starting;
	unsigned *disk_numbers;

	struct gang_preemption *rounds; /* options->rounds of them; facts.rounds_done are valid */
	struct drill_facts facts;
	int *last_exits; /* of the last start */
	bool idle;       /* it was ended by us, since nothing happened any more */
	unsigned last_start;
	struct compared_sizes compared_sizes; /* of all members that write it */
	uint32_t compared;                    /* the member whose file differs, or is missing */
	char *last_lines; /* end of the log of a member whose run failed; NULL: none */
	uint32_t failed_member;
};

/* As scenario_play(), and with the same rules for its end. */
int gang_scenario_play(const struct scenario_options *options, struct gang_scenario *scenario,
		       struct err *err);
void gang_scenario_release(struct gang_scenario *scenario);
AUTO(struct gang_scenario, gang_scenario_release);

/* The whole drill; `reason` (may be NULL) gets the first cause, if it has not passed. */
enum drill_result gang_scenario_judge(const struct gang_scenario *scenario, char *reason,
				      size_t capacity);

#endif
