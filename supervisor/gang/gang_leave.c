#include "gang_leave.h"

/* No other one needs a part of it any more. */
static bool is_free(const struct gang_view *view, const struct gang_here *here, uint32_t asked)
{
	/* In the final round, whoever has finished can. */
	bool can_give = here->finished || gang_here_can_give(here) || !here->begun;
	bool open = gang_view_is_open(view) && here->given != view->round.number;

	if (view->over || view->left > 0 || view->ended == view->members || !can_give)
		return true;
	if (open)
		return false;
	/* All end by it, with the checkpoint that answers it. */
	if (asked > 0 && gang_rounds_answers_anew(view, here))
		return false;
	if (asked > 0)
		return gang_here_can_give(here) || view->answered >= asked;
	return !here->finished;
}

static struct gang_end_decision end_with(enum gang_end_action action, bool more)
{
	return (struct gang_end_decision){.action = action, .more = more};
}

/* Whoever waits for its part in the round that is open is told first. */
static struct gang_end_decision before_saying(const struct gang_view *view,
					      const struct gang_here *here)
{
	bool needed = gang_view_is_open(view) && here->given != view->round.number;
	bool waits = here->wants && !gang_rounds_may_open(view, here);

	if (needed || here->saving)
		return end_with(GANG_STAY, false);
	if (here->leaving)
		return end_with(GANG_SAY_ENDED, here->wants);
	return end_with(here->finished && waits ? GANG_SAY_ENDED : GANG_STAY, true);
}

/* Whoever waits for its part has it, or is told that there is none: from then on nobody needs one.
 * Nobody waits for a snapshot that this member knows nothing of, either. */
static struct gang_end_decision leave_alone(const struct gang_view *view,
					    const struct gang_here *here)
{
	bool needed = gang_view_is_open(view) && here->given != view->round.number;
	bool in_vain = here->wants && !gang_rounds_may_open(view, here);

	if (view->over || view->ends[here->member] == GANG_HAS_GONE)
		return end_with(here->saving ? GANG_STAY : GANG_LEAVE, false);
	if (needed || here->saving || !(here->leaving || in_vain))
		return end_with(GANG_STAY, false);
	return end_with(GANG_SAY_GONE, false);
}

enum gang_last_word gang_leave_last_word(const struct gang_view *view, const struct gang_here *here,
					 uint32_t settled)
{
	uint32_t round = view->round.number;

	bool all_end = view->notice > 0 && here->leaves == 0;

	if (all_end || view->over || view->ends[here->member] == GANG_HAS_GONE)
		return GANG_LAST_NOTHING;
	if (!gang_view_is_open(view))
		return GANG_LAST_SAY_GONE;
	if (here->put == round && settled != round)
		return GANG_LAST_VOID_PART;
	return here->put == round ? GANG_LAST_SAY_GONE : GANG_LAST_LEAVE_OUT;
}

/* Nothing comes of what this member waits for. */
static bool is_lost(const struct gang_view *view, const struct gang_here *here)
{
	if (view->round.final)
		return view->round.state == GANG_ROUND_OVER;
	return here->finished && here->wants && !gang_view_is_open(view) &&
	       (view->left > 0 || view->ended == view->members);
}

struct gang_end_decision gang_leave_decide(const struct gang_view *view,
					   const struct gang_here *here, uint32_t asked)
{
	enum gang_member_end said = view->ends[here->member];
	struct gang_end_decision leave = end_with(GANG_LEAVE, false);
	bool final_is_open = view->round.final && gang_view_is_open(view);

	if (!here->ended)
		return end_with(GANG_STAY, false);
	if (here->leaves > 0)
		return leave_alone(view, here);
	if (said == GANG_GOES_ON && !view->over)
		return before_saying(view, here);
	leave.lost = is_lost(view, here);
	if (here->saving || (final_is_open && !view->over) || (!here->leaving && !leave.lost))
		return end_with(GANG_STAY, false);
	/* What it ends with depends on it. */
	if (asked > 0 && !view->over && gang_view_wants_answers(view))
		return end_with(GANG_STAY, false);
	if (view->over || view->ended == view->members || said == GANG_HAS_LEFT || leave.lost)
		return leave;
	return end_with(is_free(view, here, asked) ? GANG_SAY_ENDED : GANG_STAY, here->wants);
}
