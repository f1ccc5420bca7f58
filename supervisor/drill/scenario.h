/*
 * Plays the drill: first an undisturbed run to compare with (if wanted), then machine after
 * machine, each preempted after a notice, and a last one on which the job runs to its end. It
 * collects facts; verdict.c judges them.
 */
#ifndef SCENARIO_H
#define SCENARIO_H

#include "base/cleanup.h"
#include "base/err.h"
#include "drill/round_verdict.h"
#include "drill/verdict.h"
#include "evidence.h"
#include "sandbox.h"

#include <stdint.h>

struct scenario {
	const struct scenario_options *options;
	struct sandbox sandbox;
	int signal; /* ended the drill early, SIGALRM: --timeout; 0: none */

	struct round_facts *rounds; /* options->rounds of them; facts.rounds_done are valid */
	struct round_verdict *verdicts;
	struct drill_facts facts;
	struct evidence evidence; /* of the machine before */
	struct compared_sizes compared_sizes;
	int64_t undisturbed_ms;
	unsigned last_machine;
	char *last_lines; /* end of the log of the machine on which the job failed; NULL: none */
	unsigned failed_machine;
};

/*
 * Plays the drill and judges each round. Blocks until its end. -1: it could not be played;
 * ERR_CANCELLED: by a signal (`signal` is set); ERR_EXISTS: the directory is not empty. In any case
 * no process is left, and the caller must call scenario_release().
 */
int scenario_play(const struct scenario_options *options, struct scenario *scenario,
		  struct err *err);
void scenario_release(struct scenario *scenario);
AUTO(struct scenario, scenario_release);

#endif
