#include "gang_rounds.h"

/* After one that was left out: twice as long each time, up to a limit. */
#define AGAIN_MS 250
#define AGAIN_DOUBLINGS 4
#define AHEAD_DOUBLINGS 7

struct gang_here gang_here_new(uint32_t member)
{
	return (struct gang_here){.member = member, .step = -1, .before = -1};
}

/* Over all checkpoints so far, and never over less than a reading of the log: two may be found to
 * be complete at the same moment, which says nothing of how fast the job is. */
static void note_pace(struct gang_here *here, int64_t step)
{
	int64_t took_ms = here->now_ms - here->first_ms;

	if (here->step < 0 || step < here->first_step) {
		here->first_step = step;
		here->first_ms = here->now_ms;
		return;
	}
	if (took_ms < GANG_READ_MS)
		took_ms = GANG_READ_MS;
	here->pace = (double)(step - here->first_step) * 1000 / (double)took_ms;
}

void gang_here_note_complete(struct gang_here *here, const struct gang_view *view,
			     uint64_t generation, int64_t step)
{
	here->begun = true;
	here->learned = false;
	here->empties = 0;
	if (here->generation == 0)
		here->wanted_ms = here->now_ms;
	here->generation = generation;
	/* Something was added to it, or it was saved once more. */
	if (step == here->step)
		return;
	note_pace(here, step);
	if (step < here->step) {
		here->fallen = view->round.number;
		here->anew = true;
	}
	here->before = here->step;
	here->step = step;
	here->completed_ms = here->now_ms;
}

void gang_here_note_part(struct gang_here *here, uint32_t round, uint64_t generation, int64_t step,
			 bool beside)
{
	here->given = round;
	here->given_generation = generation;
	here->given_step = step;
	here->beside = beside;
	if (here->put == round)
		return;
	here->put = round;
	here->put_generation = generation;
	here->put_stays = false;
}

void gang_here_note_part_ended(struct gang_here *here, uint32_t round, bool put)
{
	if (here->put != round || here->put_stays)
		return;
	here->put_stays = put;
	if (!put)
		here->put = 0;
}

void gang_here_note_fate(struct gang_here *here, struct gang_view *view, uint32_t round,
			 enum gang_part_fate fate)
{
	switch (fate) {
	case GANG_FATE_LIES:
		return;
	case GANG_FATE_COMMITTED:
		gang_view_committed(view, round);
		if (here->put == round && here->put_generation > 0)
			here->durable = here->put_generation;
		break;
	case GANG_FATE_VOID:
	case GANG_FATE_UNFIT:
		here->unable = round;
		here->unable_reason =
			fate == GANG_FATE_VOID ? "its save has failed"
					       : "the parts of all do not make one snapshot";
		if (here->put == round)
			here->put = 0;
		break;
	}
	if (here->given == round)
		here->given = 0;
}

uint32_t gang_rounds_in_doubt(const struct gang_view *view, const struct gang_here *here)
{
	bool over = view->round.number == here->put && view->round.state == GANG_ROUND_OVER;

	bool known = here->durable > 0 && here->durable == here->put_generation;

	return over || known ? 0 : here->put;
}

void gang_here_note_anew(struct gang_here *here, const struct gang_view *view)
{
	here->fallen = view->round.number;
	here->stale = here->generation;
	here->step = here->before = -1;
	here->anew = true;
}

void gang_here_note_read(struct gang_here *here, const struct gang_view *view)
{
	if (here->anew)
		here->fallen = view->round.number;
	here->anew = false;
}

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
 * that.
 */
static struct gang_round_decision without_checkpoint(const struct gang_view *view,
						     const struct gang_here *here)
{
	/* Of a step that nobody may have come to yet, nothing is learned. */
	bool learned = here->learned && !view->round.at_least;
	/* It goes on with what it started from, which the final round takes. */
	bool finished = here->finished && !here->holds_start;
	uint32_t notice = gang_rounds_notice(view, here);
	bool answers = here->in_order && notice > 0 && !here->holds_start;

	if (!here->begun && (learned || view->round.passed || finished))
		return act_in(view, GANG_GIVE_BESIDE);
	if (!here->begun && answers) {
		struct gang_round_decision decision = act_in(view, GANG_GIVE_BESIDE);

		decision.asked = notice;
		return decision;
	}
	if (here->ended)
		return leave_out(view, here,
				 here->begun ? "its job has ended without a complete checkpoint"
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

/* Its last checkpoint is complete. */
static bool has_answered_notice(const struct gang_view *view, const struct gang_here *here)
{
	uint32_t notice = gang_rounds_notice(view, here);

	return notice > 0 && here->saw >= notice;
}

static struct gang_round_decision with_checkpoint(const struct gang_view *view,
						  const struct gang_here *here)
{
	const struct gang_round *round = &view->round;

	if (here->fallen >= round->number)
		return leave_out(view, here, "its job has begun anew from an earlier step");
	if (!gang_here_can_give(here))
		return here->ended ? leave_out(view, here,
					       "its job has begun anew, and has ended without a "
					       "complete checkpoint")
				   : wait_until(INT64_MAX);
	if (is_meant(round, here))
		return act_in(view, GANG_TAKE);
	if (round->step < 0 || here->step < 0)
		return leave_out(view, here,
				 "this checkpoint has no step, by which the members of a gang know "
				 "that they save the same one");
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
	if (why_nothing_final(here))
		return leave_out(view, here, why_nothing_final(here));
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
	       view->round.number > here->ended_in && here->put != view->round.number;
}

static struct gang_round_decision in_round(const struct gang_view *view,
					   const struct gang_here *here)
{
	if (here->given == view->round.number)
		return after_giving(view, here);
	if (here->unable == view->round.number)
		return leave_out(view, here, here->unable_reason);
	if (view->round.final)
		return in_final_round(view, here);
	if (is_too_late(view, here))
		return leave_out(view, here,
				 "its job has ended, and those of the others may have begun anew");
	/* The job here may have begun anew without it, and its part be of the run before. */
	if (view->gone > view->round.gone && here->put != view->round.number)
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
	int64_t read_ms = view->notice > 0 ? GANG_READ_AT_NOTICE_MS : GANG_READ_MS;

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

static struct gang_round_decision open_round(const struct gang_view *view,
					     const struct gang_here *here)
{
	struct gang_round_decision decision = {.action = GANG_OPEN, .step = here->step};

	/* A job that has ended comes to no later one; nor may one that was asked for its last. */
	if (view->failures == 0 || here->ended || here->step < 0 ||
	    (view->notice > 0 && !was_passed(&view->round)))
		return decision;
	/* Whoever has left it out has that one, and all come to it, perhaps to no later one: a job
	 * may save only when it is asked. */
	if (view->failures == 1 && view->round.left_step >= here->step) {
		decision.step = view->round.left_step;
		return decision;
	}
	decision.at_least = true;
	decision.step = step_ahead(view, here);
	return decision;
}

/* A member that has left gives no part: nothing is committed any more. */
static bool may_open(const struct gang_view *view, const struct gang_here *here)
{
	bool tried = view->failures > 0 && here->over_ms >= here->ended_ms;

	if (!gang_here_can_give(here) || view->left > 0 || view->round.final ||
	    (here->leaves > 0 && here->ended))
		return false;
	if (!here->wants)
		return gang_rounds_answers_anew(view, here);
	/* The rest is left to the final round: what has no step, or none that the others have. */
	return !here->finished || (here->generation != here->durable && here->step >= 0 && !tried);
}

bool gang_rounds_answers_anew(const struct gang_view *view, const struct gang_here *here)
{
	const struct gang_round *round = &view->round;

	return has_answered_notice(view, here) && view->answered < gang_rounds_notice(view, here) &&
	       view->ended < view->members && round->state == GANG_ROUND_COMMITTED &&
	       view->looked == round->number && here->given == round->number && !here->beside &&
	       here->given_generation == here->generation && here->step >= 0;
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

		if (decision.action == GANG_LEAVE_OUT && here->put == view->round.number)
			return act_in(view, GANG_LOOK_AFTER_PART);
		return decision.action == GANG_TAKE && !may_give(here)
			       ? wait_until(INT64_MAX)
			       : decision;
	}
	if (!may_give(here) || !may_open(view, here))
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

struct gang_round_decision gang_rounds_decide(const struct gang_view *view,
					      const struct gang_here *here)
{
	struct gang_round_decision decision = decide_on_round(view, here);
	int64_t due_ms = here->goes_on_ms + GANG_GOES_ON_MS;
	bool waits = decision.action == GANG_WAIT || decision.action == GANG_LOOK_AFTER_PART;

	if (!waits || view->over || !speaks_for_all(view, here))
		return decision;
	if (here->goes_on_ms == 0 || here->now_ms >= due_ms)
		return act_in(view, GANG_SAY_GOES_ON);
	if (due_ms < decision.again_ms)
		decision.again_ms = due_ms;
	return decision;
}

/* --- the end --- */

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
	bool waits = here->wants && !may_open(view, here);

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
	bool in_vain = here->wants && !may_open(view, here);

	if (view->over || view->ends[here->member] == GANG_HAS_GONE)
		return end_with(here->saving ? GANG_STAY : GANG_LEAVE, false);
	if (needed || here->saving || !(here->leaving || in_vain))
		return end_with(GANG_STAY, false);
	return end_with(GANG_SAY_GONE, false);
}

enum gang_last_word gang_rounds_last_word(const struct gang_view *view,
					  const struct gang_here *here, uint32_t settled)
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

struct gang_end_decision gang_rounds_end(const struct gang_view *view, const struct gang_here *here,
					 uint32_t asked)
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
