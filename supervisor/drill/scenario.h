/*
 * The order of play: an undisturbed run to compare with (if asked for), then machine after machine,
 * each taken away after a notice, and a last one that is left alone to the end of the job. Collects
 * facts; verdict.c judges them.
 */
#ifndef SCENARIO_H
#define SCENARIO_H

#include "base/err.h"
#include "drill/verdict.h"
#include "sandbox.h"

#include <stdint.h>

struct scenario {
	const struct scenario_options *options;
	struct sandbox sandbox;
	int signal; /* that ended the drill early; 0 */

	struct round_facts *rounds; /* options->rounds of them, facts.rounds_done are filled */
	struct round_verdict *verdicts;
	struct drill_facts facts;
	uint64_t compared_bytes;
	int64_t undisturbed_ms;
	unsigned last_machine;
	char *last_lines; /* of the log of a machine on which the job failed; NULL */
	unsigned failed_machine;
};

/*
 * Plays it to the end and judges each round. Blocks for as long as that takes. -1 when it could not
 * be played: ERR_CANCELLED with `signal` set, ERR_EXISTS for a directory that is not empty, and
 * others. Whatever it returns, nothing runs any more, and scenario_release() is due.
 */
int scenario_play(const struct scenario_options *options, struct scenario *scenario,
		  struct err *err);
void scenario_release(struct scenario *scenario);

static inline void cleanup_scenario_release(struct scenario *scenario)
{
	scenario_release(scenario);
}

#endif
