#include "gang_start.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <string.h>

/* --- gang_roster --- */

/* Whether the launcher has told these two apart as two starts. */
static bool gang_launch_differs(const struct gang_join *a, const struct gang_join *b)
{
	return a->launch.id[0] && b->launch.id[0] && !text_equal(a->launch.id, b->launch.id);
}

static bool is_later_launch(const struct gang_launch *a, const struct gang_launch *b)
{
	if (a->after != b->after)
		return a->after > b->after;
	return a->put_ms != b->put_ms ? a->put_ms > b->put_ms : strcmp(a->id, b->id) > 0;
}

/* Of two of one member, or of two starts: whether `a` is the later one. It goes by when each
 * process began, by the store's clock, and of two that began at the same time by what each found
 * when it came; of two that came at once the nonces decide, for all alike. */
static bool gang_join_is_later(const struct gang_join *a, const struct gang_join *b)
{
	if (gang_launch_differs(a, b))
		return is_later_launch(&a->launch, &b->launch);
	if (a->birth_ms > 0 && b->birth_ms > 0 &&
	    (a->birth_ms > b->birth_ms + GANG_SAME_TIME_MS ||
	     b->birth_ms > a->birth_ms + GANG_SAME_TIME_MS))
		return a->birth_ms > b->birth_ms;
	if (a->first_after != b->first_after)
		return a->first_after > b->first_after;
	return a->turn != b->turn ? a->turn > b->turn : strcmp(a->nonce, b->nonce) > 0;
}

/* As it is listed, with the store's time. */
static const struct gang_join *find_listed(const struct gang_join *joins, size_t count,
					   const struct gang_join *own)
{
	for (size_t i = 0; i < count; i++)
		if (text_equal(joins[i].nonce, own->nonce))
			return &joins[i];
	return NULL;
}

static bool is_of_own_start(const struct gang_join *join, const struct gang_join *own)
{
	return join->members == own->members && text_equal(join->launch.id, own->launch.id);
}

/* Of a start by another name nothing is to be taken into account; of the same name all is. */
static bool is_recent(const struct gang_join *join, const struct gang_join *own)
{
	return (own->launch.id[0] && text_equal(join->launch.id, own->launch.id)) ||
	       join->put_ms >= own->put_ms - GANG_CONTRADICTION_MS;
}

/* Its machine has been started once more since it has said so. */
static bool is_outdated(const struct gang_join *joins, size_t count, const struct gang_join *join)
{
	for (size_t i = 0; i < count && join->members > 0; i++)
		if (joins[i].member == join->member && joins[i].put_ms > join->put_ms &&
		    gang_join_is_later(&joins[i], join))
			return true;
	return false;
}

/* Two machines, and both live: where one takes the place of another, that takes longer. */
static bool is_beside(const struct gang_join *a, const struct gang_join *b)
{
	int64_t apart_ms = a->birth_ms - b->birth_ms;

	return a->birth_ms > 0 && b->birth_ms > 0 && a->host[0] && b->host[0] &&
	       !text_equal(a->host, b->host) && apart_ms > -GANG_CONTRADICTION_MS &&
	       apart_ms < GANG_CONTRADICTION_MS;
}

/* What one other says of this one; WAITING: nothing. */
static enum gang_roster_state judge_other(const struct gang_join *joins, size_t count,
					  const struct gang_join *join, const struct gang_join *own)
{
	/* It knows of no gang that it is in, but of its launch. */
	if (join->members == 0)
		return own->launch.id[0] && text_equal(join->launch.id, own->launch.id)
			       ? ROSTER_REFUSED
			       : ROSTER_WAITING;
	if (gang_launch_differs(join, own))
		return gang_join_is_later(join, own) ? ROSTER_OUTRUN : ROSTER_WAITING;
	if (join->members == own->members && join->member == own->member && !join->refused &&
	    gang_join_is_later(join, own))
		return is_beside(join, own) ? ROSTER_TWICE : ROSTER_REPLACED;
	if ((join->members == own->members && !join->refused) || !is_recent(join, own) ||
	    is_outdated(joins, count, join))
		return ROSTER_WAITING;
	return join->members == own->members ? ROSTER_REFUSED : ROSTER_CONTRADICTED;
}

/* Whoever has put right what was wrong starts all again, soon after. */
static bool may_be_outdated(const struct gang_join *join, const struct gang_join *own)
{
	return join->put_ms < own->birth_ms &&
	       !(own->launch.id[0] && text_equal(join->launch.id, own->launch.id));
}

/* Neither was left by a start that has failed long before. */
static bool is_doubled(const struct gang_join *a, const struct gang_join *b)
{
	int64_t apart_ms = a->put_ms - b->put_ms;

	return a->first_after == b->first_after && apart_ms > -GANG_CONTRADICTION_MS &&
	       apart_ms < GANG_CONTRADICTION_MS;
}

/* Enters the members of the own start, each by its newest join. */
static void enter_members(const struct gang_join *joins, size_t count, const struct gang_join *own,
			  bool whole, const struct gang_join **found, struct gang_roster *roster)
{
	for (size_t i = 0; i < count; i++) {
		const struct gang_join *join = &joins[i], **at;

		if (!is_of_own_start(join, own) || join->refused)
			continue;
		at = &found[join->member];
		if (whole && *at && is_doubled(*at, join)) {
			roster->state = ROSTER_DOUBLED;
			roster->by = *join;
			roster->with = **at;
			return;
		}
		if (!*at || gang_join_is_later(join, *at))
			*at = join;
	}
}

/* The first of the others that says something of this one. One that knows no number of its own
 * keeps nobody from starting while all are there. */
static void judge_others(const struct gang_join *joins, size_t count, const struct gang_join *own,
			 bool settled, struct gang_roster *roster, bool *doubtful)
{
	for (size_t i = 0; i < count && roster->state == ROSTER_WAITING; i++) {
		enum gang_roster_state state = judge_other(joins, count, &joins[i], own);

		if (state == ROSTER_WAITING ||
		    (joins[i].members == 0 && roster->there == own->members))
			continue;
		roster->by = joins[i];
		if (state >= ROSTER_CONTRADICTED && !settled && may_be_outdated(&joins[i], own))
			*doubtful = true;
		else
			roster->state = state;
	}
}

static void count_members(const struct gang_join **found, const struct gang_join *own,
			  struct gang_roster *roster)
{
	for (uint32_t i = own->members; i > 0; i--) {
		roster->there += found[i - 1] != NULL;
		if (!found[i - 1])
			roster->missing = i - 1;
	}
}

struct gang_roster gang_roster_judge(const struct gang_join *joins, size_t count,
				     const struct gang_join *own, struct gang_roster_view view)
{
	const struct gang_join *listed = find_listed(joins, count, own);
	struct gang_roster roster = {.state = ROSTER_WAITING, .missing = own->member};
	auto_free const struct gang_join **found = memory_new(own->members * sizeof(*found));
	bool doubtful = false;

	if (!listed)
		return roster;
	enter_members(joins, count, listed, view.whole && listed->launch.id[0], found, &roster);
	count_members(found, own, &roster);
	judge_others(joins, count, listed, view.settled, &roster, &doubtful);
	if (roster.state == ROSTER_TWICE)
		roster.with = *listed;
	if (roster.state != ROSTER_WAITING)
		return roster;
	if (doubtful && roster.by.members > 0)
		roster.missing = roster.by.member;
	else if (!doubtful && roster.there == own->members)
		roster.state = ROSTER_COMPLETE;
	return roster;
}

void gang_roster_choose(const struct gang_join *joins, size_t count, const struct gang_join *own,
			struct gang_join *chosen)
{
	auto_free const struct gang_join **found = memory_new(own->members * sizeof(*found));

	enter_members(joins, count, own, false, found, NULL);
	for (uint32_t i = 0; i < own->members; i++)
		chosen[i] = found[i] ? *found[i] : (struct gang_join){0};
}

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

/* The newest attempt has another process in the place of this one, which came later. */
static struct start_decision end_by_claim(enum gang_roster_state state,
					  const struct gang_claim *claim)
{
	return (struct start_decision){
		.step = START_STEP_END,
		.end = START_END_ROSTER,
		.roster = {.state = state, .by = claim->own},
	};
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
		return end_by_claim(ROSTER_OUTRUN, claim);
	if (self->joined && claim->members != self->own.members)
		return end_by(START_END_OTHER_GANG);
	/* How old it is it knows once it has joined. */
	if (self->joined && is_stale(&self->own, claim))
		return end_by_claim(ROSTER_REPLACED, claim);
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
		return end_by_claim(ROSTER_REPLACED, claim);
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
