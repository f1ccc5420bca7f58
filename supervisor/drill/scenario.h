/*
 * Plays the drill: first an undisturbed run to compare with (if wanted), then start after start: of
 * one machine, or of all members of a gang. In each, one machine is taken away after a notice; the
 * last one is left alone. It collects facts; verdict.c judges them.
 */
#ifndef SCENARIO_H
#define SCENARIO_H

#include "sandbox.h"
#include "verdict.h"

/* One machine of a start, and its disk. */
struct machine {
	struct instance now;
	struct mock *mock;
	char *variable;
	char *disk;             /* NULL: a new one is needed */
	struct job_steps steps; /* of the start before */
};

struct scenario {
	const struct scenario_options *options;
	struct sandbox sandbox;   /* its `signal` has ended the drill early */
	uint32_t members;         /* 1: it is no gang */
	struct machine *machines; /* `members`; `starting` of them live */
	uint32_t starting;
	bool said_waiting; /* for the job's pace */

	struct round *rounds; /* options->rounds of them; facts.rounds_done are valid */
	struct drill_facts facts;
	uint64_t compared_bytes[2]; /* undisturbed, preempted: of all members that write it */
	uint32_t compared;          /* the member whose file differs, or is missing */
	int *last_exits;            /* of the last start */
	char *last_lines;           /* end of the log of a machine that failed; NULL: none */
	char failed[24];            /* its name */
};

/*
 * Plays the drill and judges each round. Blocks until its end. -1: it could not be played;
 * ERR_CANCELLED: by a signal; ERR_EXISTS: the directory is not empty. In any case
 * no process is left, and the caller must call scenario_release().
 */
int scenario_play(const struct scenario_options *options, struct scenario *scenario,
		  struct err *err);
void scenario_release(struct scenario *scenario);
AUTO(struct scenario, scenario_release);

#endif
