#include "gang_start.h"

#include "base/text.h"

static struct start_decision only(enum start_step step)
{
	return (struct start_decision){.step = step};
}

static struct start_decision end_by(enum start_end end)
{
	return (struct start_decision){.step = START_STEP_END, .end = end};
}

/* The newest attempt names this one, and nobody has come anew. */
static struct start_decision decide_named(const struct gang_self *self,
					  const struct gang_seen *seen)
{
	uint32_t attempt = seen->claim->attempt;

	if (seen->first == GANG_FIRST_GO)
		return only(self->restored == attempt ? START_STEP_START : START_STEP_RESTORE);
	if (!seen->claim->confirmed)
		return only(START_STEP_WAIT_FOR_CLAIM);
	if (self->restored != attempt)
		return only(START_STEP_RESTORE);
	return only(self->own.member == 0 && seen->all_ready ? START_STEP_GO
							     : START_STEP_WAIT_FOR_READY);
}

/* The newest attempt is one of others, which came later. */
static bool is_outrun(const struct gang_join *own, const struct gang_claim *claim)
{
	return claim->members > 1 && gang_launch_differs(&claim->own, own) &&
	       gang_join_is_later(&claim->own, own);
}

static bool is_stale(const struct gang_join *own, const struct gang_claim *claim)
{
	return claim->members == own->members && gang_join_is_later(&claim->own, own);
}

static bool has_rejoin(const struct gang_seen *seen)
{
	return seen->first == GANG_FIRST_REJOIN || seen->first == GANG_FIRST_REFUSED;
}

/* It cannot be a member. Of an attempt that has started it is none, or that is its own. */
static struct start_decision decide_refused(const struct gang_self *self,
					    const struct gang_seen *seen, bool named)
{
	const struct gang_claim *claim = seen->claim;
	bool concerns = named || self->after == claim->attempt;

	if (!named &&
	    (is_outrun(&self->own, claim) || (self->joined && is_stale(&self->own, claim))))
		return end_by(START_END_OWN);
	/* Somebody has ended the attempt that names it for another reason: who gathers anew is
	 * told below it. */
	if (!self->joined || !concerns ||
	    (named && seen->first == GANG_FIRST_REJOIN && self->after != claim->attempt))
		return only(START_STEP_JOIN);
	if (claim->members != self->own.members || seen->first != GANG_FIRST_NONE ||
	    self->rejoined == claim->attempt)
		return end_by(START_END_OWN);
	return only(START_STEP_REJOIN);
}

/* It has not joined below the newest attempt. */
static struct start_decision decide_join(const struct gang_self *self, const struct gang_seen *seen)
{
	const struct gang_claim *claim = seen->claim;

	if (is_outrun(&self->own, claim))
		return end_by(START_END_OUTRUN);
	if (self->joined && claim->members != self->own.members)
		return end_by(START_END_OTHER_GANG);
	/* How old it is it knows once it has joined. */
	if (self->joined && is_stale(&self->own, claim))
		return end_by(START_END_STALE);
	return only(START_STEP_JOIN);
}

/* It has joined below the newest attempt, and waits for the next one. */
static struct start_decision decide_joined(const struct gang_self *self,
					   const struct gang_seen *seen, bool named)
{
	const struct gang_claim *claim = seen->claim;
	/* One with another number of members ends no attempt before all of its own are there. */
	bool same_gang = claim->members == self->own.members;
	bool is_over = claim->members <= 1 || has_rejoin(seen) || self->rejoined == claim->attempt;
	struct gang_roster_view view = {self->whole, seen->settled};
	struct start_decision decision = {
		.step = START_STEP_WAIT_FOR_MEMBERS,
		.end = START_END_ROSTER,
		.roster = gang_roster_judge(seen->joins, seen->join_count, &self->own, view),
	};

	if (!named && is_stale(&self->own, claim))
		return end_by(START_END_STALE);
	if (decision.roster.state > ROSTER_COMPLETE)
		decision.step = START_STEP_END;
	else if (!is_over && same_gang && seen->first == GANG_FIRST_NONE)
		decision.step = START_STEP_REJOIN;
	else if (decision.roster.state == ROSTER_COMPLETE && self->own.member != 0)
		decision.step = START_STEP_WAIT_FOR_CLAIM;
	else if (decision.roster.state == ROSTER_COMPLETE)
		decision.step = is_over ? START_STEP_CLAIM : START_STEP_REJOIN;
	else if (!is_over && same_gang && seen->patient)
		decision.step = START_STEP_REJOIN;
	return decision;
}

struct start_decision gang_start_decide(const struct gang_self *self, const struct gang_seen *seen)
{
	const struct gang_claim *claim = seen->claim;
	bool named = self->joined && text_equal(claim->own.nonce, self->own.nonce);

	if (self->own.refused)
		return decide_refused(self, seen, named);
	if (named && seen->first == GANG_FIRST_REFUSED)
		return end_by(START_END_REFUSED);
	if (named && seen->first != GANG_FIRST_REJOIN)
		return decide_named(self, seen);
	/* Somebody has emptied the store, and the numbers begin anew. */
	if (self->joined && self->after > claim->attempt)
		return only(START_STEP_JOIN);
	if (!self->joined || self->after < claim->attempt)
		return named ? only(START_STEP_JOIN) : decide_join(self, seen);
	return decide_joined(self, seen, named);
}

void gang_start_birth(const struct gang_seen *seen, struct gang_join *own)
{
	const struct gang_claim *claim = seen->claim;

	own->first_after = claim->attempt;
	own->turn = 1;
	for (size_t i = 0; i < seen->join_count; i++)
		if (seen->joins[i].member == own->member &&
		    seen->joins[i].first_after == claim->attempt &&
		    seen->joins[i].turn >= own->turn)
			own->turn = seen->joins[i].turn + 1;
}

void gang_start_note_birth(const struct gang_seen *seen, struct gang_join *own)
{
	for (size_t i = 0; i < seen->join_count && own->birth_ms == 0; i++)
		if (text_equal(seen->joins[i].nonce, own->nonce))
			own->birth_ms = seen->joins[i].birth_ms;
}
