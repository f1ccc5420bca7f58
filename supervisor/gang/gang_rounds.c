#include "gang_rounds.h"

/* After one that was left out: twice as long each time, up to a limit. */
#define AGAIN_MS 250
#define AGAIN_DOUBLINGS 4
/* It is so far ahead that all have read of it by then (GANG_READ_MS); twice as far each time. At a
 * notice all look out for it. */
#define AHEAD_DOUBLINGS 7
#define READ_AT_NOTICE_MS 500

static struct gang_round_decision wait_until(int64_t again_ms)
{
	return (struct gang_round_decision){.action = GANG_WAIT, .again_ms = again_ms};
}

static struct gang_round_decision act_in(const struct gang_view *view,
					 enum gang_round_action action)
{
	return (struct gang_round_decision){.action = action, .round = view->round.number};
}

static struct gang_round_decision leave_out(const struct gang_view *view,
					    const struct gang_here *here, const char *reason)
{
	struct gang_round_decision decision = act_in(view, GANG_LEAVE_OUT);

	decision.step = here->generation ? here->step : -1;
	decision.reason = reason;
	return decision;
}

/* --- a round is open --- */

/* Nothing later comes of its job. One that leaves alone trains on until a snapshot answers its
 * notice, or its time is over. */
static bool is_stopping(const struct gang_here *here)
{
	return here->ended || (here->stopping && here->leaves == 0);
}

/* Somebody has gone on: whoever trains in step with it, and has written nothing of the round's
 * checkpoint by then, writes none. One without a step may consist of several files, each of which
 * was complete by itself. */
static bool has_passed(const struct gang_here *here)
{
	if (here->beside)
		return false;
	/* At its end nothing later comes; but whoever has written nothing by then, since a
	 * checkpoint before this one, writes none. */
	if (is_stopping(here) && here->given_step >= 0 && here->step == here->given_step &&
	    here->before >= 0 && here->before < here->step)
		return true;
	return here->given_step >= 0 ? here->step > here->given_step
				     : here->generation > here->given_generation + 1;
}

static struct gang_round_decision after_giving(const struct gang_view *view,
					       const struct gang_here *here)
{
	struct gang_round_decision decision;

	if (!gang_view_is_open(view) || view->round.passed || view->round.final ||
	    !has_passed(here))
		return wait_until(INT64_MAX);
	decision = act_in(view, GANG_SAY_PASSED);
	decision.step = here->step;
	return decision;
}

/*
 * It has written no checkpoint in this attempt. Time alone is no reason to say that it has none,
 * nor is the end of its job, if that was brought about: where each rank saves its shard, one that
 * is cut before it begins looks the same as one that has nothing to save. Whoever has finished has
 * had its say; and whoever ends in order when it was asked to save, of a checkpoint that answers
 * that: of an older one it may have been about to write its files.
 */
static struct gang_round_decision without_checkpoint(const struct gang_view *view,
						     const struct gang_here *here)
{
	/* Of a step that nobody may have come to yet, nothing is learned. */
	bool learned = here->learned && !view->round.at_least;
	/* It goes on with what it started from, which the final round takes. */
	bool finished = here->finished && !here->holds_start;
	uint32_t notice = gang_rounds_notice(view, here);
	bool asked = here->in_order && notice > 0 && !here->holds_start;
	bool answers = asked && view->round.answers >= notice;

	if (!here->begun && (learned || view->round.passed || finished || answers))
		return act_in(view, GANG_GIVE_BESIDE);
	if (here->ended)
		return leave_out(view, here,
				 here->begun ? "its job has ended without a complete checkpoint"
				 : asked ? "its job ended when it was asked to, and had no part "
					   "yet of this older checkpoint"
					 : "its job has ended before it had one");
	return wait_until(INT64_MAX);
}

/* The newest complete checkpoint is the one that the round is about. */
static bool is_meant(const struct gang_round *round, const struct gang_here *here)
{
	if (round->step < 0)
		return round->opener == here->member && here->step < 0;
	return round->at_least ? here->step >= round->step && here->before < round->step
			       : here->step == round->step;
}

/* It is past the round's checkpoint, and has that one too. */
static bool has_older(const struct gang_view *view, const struct gang_here *here)
{
	const struct gang_round *round = &view->round;

	return !round->at_least && !here->shares && view->gone == 0 && round->step < here->step &&
	       gang_here_find_step(here, round->step) >= 0;
}

static struct gang_round_decision take_older(const struct gang_view *view)
{
	struct gang_round_decision decision = act_in(view, GANG_TAKE);

	decision.older = true;
	decision.step = view->round.step;
	return decision;
}

static struct gang_round_decision with_checkpoint(const struct gang_view *view,
						  const struct gang_here *here)
{
	const struct gang_round *round = &view->round;
	/* Also without a step, unless its job has just begun anew. */
	bool is_past = here->step >= round->step && (here->step >= 0 || view->gone > 0);

	if (here->fallen >= round->number)
		return leave_out(view, here, "its job has begun anew from an earlier step");
	if (!gang_here_can_give(here) && (here->ended || is_past))
		return leave_out(view, here,
				 "what its job has saved is of a run before, or with a member that "
				 "has gone");
	if (!gang_here_can_give(here))
		return wait_until(INT64_MAX);
	if (is_meant(round, here))
		return act_in(view, GANG_TAKE);
	if (round->step < 0 || here->step < 0)
		return leave_out(
			view, here,
			"its checkpoint has no step, which says that all save the same one: "
			"give its files numbered names, report the step, or let one member "
			"save for all");
	if (has_older(view, here))
		return take_older(view);
	if (here->step >= round->step)
		return leave_out(view, here, "it has gone on to a later checkpoint");
	/* Not before: until then it may come to it (gang_rounds_awaits_step()). */
	if (here->ended)
		return leave_out(view, here, "its job has ended before that step");
	return wait_until(INT64_MAX);
}

bool gang_rounds_awaits_step(const struct gang_view *view, const struct gang_here *here)
{
	const struct gang_round *round = &view->round;

	return gang_view_is_open(view) && !view->over && !round->final &&
	       here->given != round->number && here->unable != round->number &&
	       here->fallen < round->number && gang_here_can_give(here) && here->step >= 0 &&
	       here->step < round->step;
}

/* Why it has no part in the final round; NULL: it has. What lies there of a checkpoint that is not
 * whole is not passed over in silence. */
static const char *why_nothing_final(const struct gang_here *here)
{
	if (here->generation > 0 ? !gang_here_can_give(here) : here->begun)
		return "its job has ended without a complete checkpoint";
	return here->torn_later ? "its last checkpoint is not whole" : NULL;
}

static struct gang_round_decision in_final_round(const struct gang_view *view,
						 const struct gang_here *here)
{
	const char *why = why_nothing_final(here);

	if (why)
		return leave_out(view, here, why);
	/* Each gives its directory as it is; but what it took over from others stays theirs. */
	return act_in(view,
		      here->generation > 0 || here->holds_start ? GANG_TAKE : GANG_GIVE_BESIDE);
}

/* Once the ranks here are gone, those of the others begin anew, and save the same steps once more:
 * of a member that leaves alone nothing is given any more in a round that was opened after the end
 * of its job. */
static bool is_too_late(const struct gang_view *view, const struct gang_here *here)
{
	return here->leaves > 0 && here->ended && here->generation > 0 &&
	       view->round.number > here->ended_in;
}

static struct gang_round_decision in_round(const struct gang_view *view,
					   const struct gang_here *here)
{
	if (here->given == view->round.number)
		return here->lies ? act_in(view, GANG_LOOK_AFTER_PART) : after_giving(view, here);
	if (here->unable == view->round.number)
		return leave_out(view, here, here->unable_reason);
	if (view->round.final)
		return in_final_round(view, here);
	if (is_too_late(view, here))
		return leave_out(view, here,
				 "its job has ended, and those of the others may have begun anew");
	/* The job here may have begun anew without it. */
	if (view->gone > view->round.gone)
		return leave_out(view, here, "a member has gone while the round was open");
	return here->generation == 0 ? without_checkpoint(view, here) : with_checkpoint(view, here);
}

/* --- none is --- */

static unsigned doublings(const struct gang_view *view, unsigned most)
{
	return view->failures - 1 < most ? view->failures - 1 : most;
}

/* When this member may open one: so that not all try at once. */
static int64_t opening_ms(const struct gang_view *view, const struct gang_here *here)
{
	int64_t at_ms = here->wanted_ms + GANG_OPEN_PAUSE_MS;

	if (here->urgent || here->ended || view->round.opener == here->member)
		at_ms = here->wanted_ms;
	if (view->failures > 0) {
		int64_t next_ms = here->over_ms + (AGAIN_MS << doublings(view, AGAIN_DOUBLINGS));

		at_ms = next_ms > at_ms ? next_ms : at_ms;
	}
	return at_ms;
}

/* Beyond every step that is known, by the time that all need to read of it. At a notice all look
 * out for it, and time is short. */
static int64_t step_ahead(const struct gang_view *view, const struct gang_here *here)
{
	int64_t furthest = here->step, ahead;
	int64_t read_ms = view->notice > 0 ? READ_AT_NOTICE_MS : GANG_READ_MS;

	if (view->round.left_step > furthest)
		furthest = view->round.left_step;
	ahead = (int64_t)(here->pace * (double)read_ms / 1000 *
			  (double)(1U << doublings(view, AHEAD_DOUBLINGS)));
	return furthest + (ahead > 1 ? ahead : 1);
}

/* Whoever has left the last round out is past it: jobs that save by themselves train on. */
static bool was_passed(const struct gang_round *round)
{
	return round->left_step > round->step;
}

static bool is_common(const struct gang_view *view, uint32_t own, int64_t step)
{
	for (uint32_t i = 0; i < view->members; i++) {
		const struct gang_steps *steps = &view->steps[i];
		unsigned at = 0;

		while (at < steps->count && steps->at[at] != step)
			at++;
		if (i != own && steps->count > 0 && at == steps->count)
			return false;
	}
	return true;
}

int64_t gang_rounds_common_step(const struct gang_view *view, const struct gang_here *here)
{
	for (unsigned i = 0; i < here->steps.count && here->steps.at[i] > here->shared_step; i++)
		if (is_common(view, here->member, here->steps.at[i]))
			return here->steps.at[i];
	return -1;
}

static struct gang_round_decision open_round(const struct gang_view *view,
					     const struct gang_here *here)
{
	struct gang_round_decision decision = {
		.action = GANG_OPEN,
		.step = here->step,
		.answers = here->saw,
	};
	int64_t common = gang_rounds_common_step(view, here);

	if (view->failures > 0 && common >= 0 && !here->shares && view->gone == 0) {
		decision.step = common;
		decision.answers = common == here->step ? here->saw : 0;
		return decision;
	}
	/* A job that has ended comes to no later one; nor may one that was asked for its last. */
	if (view->failures == 0 || here->ended || here->step < 0 ||
	    (view->notice > 0 && !was_passed(&view->round)))
		return decision;
	/* Whoever has left it out has that one, and all come to it, perhaps to no later one: a job
	 * may save only when it is asked. */
	decision.at_least = view->failures > 1 || view->round.left_step < here->step;
	decision.step = decision.at_least ? step_ahead(view, here) : view->round.left_step;
	decision.answers = decision.step == here->step ? here->saw : 0;
	return decision;
}

/* A member that has left gives no part: nothing is committed any more. */
bool gang_rounds_may_open(const struct gang_view *view, const struct gang_here *here)
{
	bool tried = view->failures > 0 && here->over_ms >= here->ended_ms;

	if (!gang_here_can_give(here) || view->left > 0 || view->round.final ||
	    (here->leaves > 0 && here->ended))
		return false;
	/* The rest is left to the final round: what has no step, or none that the others have. */
	return here->wants && (!here->finished ||
			       (here->generation != here->durable && here->step >= 0 && !tried));
}

/* Of the round's checkpoint this member alone may know it: before it gives its part, since it may
 * die once that is put; or only later, as of one that was under way when the notice came. */
static bool knows_answer(const struct gang_view *view, const struct gang_here *here,
			 const struct gang_round_decision *decision)
{
	bool takes = decision->action == GANG_TAKE && !decision->older && !view->round.final;
	bool gave = here->given == view->round.number && !here->beside &&
		    here->given_generation == here->generation;

	return view->round.number > 0 && view->round.state != GANG_ROUND_OVER && (takes || gave) &&
	       here->saw > view->round.answers;
}

/* Once the job has ended, nothing more comes of it. */
static bool may_give(const struct gang_here *here)
{
	return !here->telling && !here->anew && (!here->holds || here->ended);
}

static struct gang_round_decision decide_on_round(const struct gang_view *view,
						  const struct gang_here *here)
{
	if (view->over)
		return wait_until(INT64_MAX);
	if (gang_view_is_open(view)) {
		struct gang_round_decision decision = in_round(view, here);

		return decision.action == GANG_TAKE && !may_give(here)
			       ? wait_until(INT64_MAX)
			       : decision;
	}
	if (!may_give(here) || !gang_rounds_may_open(view, here))
		return wait_until(INT64_MAX);
	if (here->now_ms < opening_ms(view, here))
		return wait_until(opening_ms(view, here));
	return open_round(view, here);
}

/* One says it for all. */
static bool speaks_for_all(const struct gang_view *view, const struct gang_here *here)
{
	uint32_t first = 0;

	while (first < view->members && view->ends[first] != GANG_GOES_ON)
		first++;
	return view->ended > view->gone_count && view->left == 0 && !here->ended &&
	       first == here->member;
}

/* Whose job has failed wants to know who is lost, and who is not. */
static bool answers_failure(const struct gang_view *view, const struct gang_here *here)
{
	return view->left > 0 && !here->ended && !view->lives[here->member];
}

struct gang_round_decision gang_rounds_decide(const struct gang_view *view,
					      const struct gang_here *here)
{
	struct gang_round_decision decision = decide_on_round(view, here);
	int64_t due_ms = here->goes_on_ms + GANG_GOES_ON_MS;
	bool waits = decision.action == GANG_WAIT || decision.action == GANG_LOOK_AFTER_PART;

	if ((waits || decision.action == GANG_TAKE) && !view->over &&
	    knows_answer(view, here, &decision)) {
		decision = act_in(view, GANG_SAY_ANSWERS);
		decision.answers = here->saw;
		return decision;
	}
	if (waits && !view->over && answers_failure(view, here))
		return act_in(view, GANG_SAY_GOES_ON);
	if (!waits || view->over || !speaks_for_all(view, here))
		return decision;
	if (here->goes_on_ms == 0 || here->now_ms >= due_ms)
		return act_in(view, GANG_SAY_GOES_ON);
	if (due_ms < decision.again_ms)
		decision.again_ms = due_ms;
	return decision;
}
