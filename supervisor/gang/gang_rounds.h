/*
 * PURE. What a member does next about the rounds of its gang: from what the log says (gang_view.h)
 * and what is known here (gang_here.h), one action. It is asked again whenever either changes.
 */
#ifndef GANG_ROUNDS_H
#define GANG_ROUNDS_H

#include "gang_here.h"

/* The others are given so long to open a round, by whoever opened the last one. */
#define GANG_OPEN_PAUSE_MS 2000
/* So often those that have ended are told that the job goes on elsewhere. */
#define GANG_GOES_ON_MS 10000

enum gang_round_action {
	/* Nothing, until something changes or `again_ms`. */
	GANG_WAIT,
	/* To append a round, of `step`, `at_least`. */
	GANG_OPEN,
	/* To give the newest checkpoint in the open round. */
	GANG_TAKE,
	/* To give what lies beside checkpoints, or an empty part. */
	GANG_GIVE_BESIDE,
	/* To append that the open round is left out: `step`, `reason`. Only if no part of this
	 * member lies there: the last one may be there already. */
	GANG_LEAVE_OUT,
	/* A save has failed, and its part may lie there: to look up what has become of it, again
	 * and again, until that is known (gang_here_note_fate()). */
	GANG_LOOK_AFTER_PART,
	/* To append that the job goes on here, for those where it has ended. */
	GANG_SAY_GOES_ON,
	/* To append that it has gone on to `step`. */
	GANG_SAY_PASSED,
};

struct gang_round_decision {
	enum gang_round_action action;
	uint32_t round;
	int64_t step;
	bool at_least;
	/* TAKE: not the newest checkpoint, but that of `step`, which all members have. */
	bool older;
	/* GIVE_BESIDE: that it has no checkpoint is known from how its job has ended when this
	 * event asked it: the checkpoint must answer that. 0: it is known otherwise. */
	uint32_t asked;
	/* Static, or of `here`. */
	const char *reason;
	/* WAIT: then it is to be asked again; INT64_MAX: when something changes. */
	int64_t again_ms;
};

struct gang_round_decision gang_rounds_decide(const struct gang_view *view,
					      const struct gang_here *here);

/* The open round is about a step that this member is still to come to. While time allows, its job
 * is not ended before: the others have gone past all that it has. */
bool gang_rounds_awaits_step(const struct gang_view *view, const struct gang_here *here);

/* The newest step that is complete here and at all members that have said what they have, and is in
 * no snapshot yet; -1: there is none. */
int64_t gang_rounds_common_step(const struct gang_view *view, const struct gang_here *here);

/* One may be opened for what is to be saved here. */
bool gang_rounds_may_open(const struct gang_view *view, const struct gang_here *here);

/* Its part did not say yet that its checkpoint answers the notice: that was known only later, as of
 * one that was under way when the notice came. Another round of the same step says it, to those
 * whose jobs wait for it. */
bool gang_rounds_answers_anew(const struct gang_view *view, const struct gang_here *here);

/* The event that this member is to end by: its own, if it leaves alone, or the first notice of all;
 * 0: there is none. */
static inline uint32_t gang_rounds_notice(const struct gang_view *view,
					  const struct gang_here *here)
{
	return here->leaves > 0 ? here->leaves : view->notice;
}

#endif
