#include "gang_rounds.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static void note_heard_of_all(struct gang_view *view, int64_t at_ms)
{
	for (uint32_t i = 0; i < view->members; i++)
		if (view->heard_ms[i] < at_ms)
			view->heard_ms[i] = at_ms;
}

struct gang_view gang_view_new(uint32_t members, int64_t now_ms)
{
	struct gang_view view = {
		.members = members,
		.heard_ms = memory_new(members * sizeof(int64_t)),
		.ends = memory_new(members * sizeof(enum gang_member_end)),
		.lives = memory_new(members * sizeof(bool)),
		.gone_at = memory_new(members * sizeof(struct gang_gone)),
		.steps = memory_new(members * sizeof(struct gang_steps)),
	};

	note_heard_of_all(&view, now_ms);
	return view;
}

void gang_view_release(struct gang_view *view)
{
	free(view->heard_ms);
	free(view->ends);
	free(view->lives);
	free(view->gone_at);
	free(view->steps);
	*view = (struct gang_view){0};
}

static void note_answered(struct gang_view *view)
{
	if (view->round.state == GANG_ROUND_COMMITTED && view->round.answers > view->answered)
		view->answered = view->round.answers;
}

void gang_view_committed(struct gang_view *view, uint32_t round)
{
	if (round <= view->committed)
		return;
	view->committed = round;
	if (round != view->round.number)
		return;
	view->round.state = GANG_ROUND_COMMITTED;
	note_heard_of_all(view, view->opened_ms);
	note_answered(view);
	view->failures = 0;
	for (uint32_t i = 0; i < view->members; i++)
		view->steps[i].count = 0;
}

/* Whoever opens it knows what became of the one before. */
static void open_round(struct gang_view *view, const struct gang_round *round)
{
	if (gang_view_is_open(view))
		gang_view_committed(view, view->round.number);
	view->round = *round;
	view->round.state = GANG_ROUND_OPEN;
	view->round.gone = view->gone;
}

static void fold_round(struct gang_view *view, const struct gang_event *event)
{
	open_round(view, &(struct gang_round){
				 .number = event->number,
				 .opener = event->member,
				 .step = event->step,
				 .at_least = event->at_least,
				 .answers = event->answers,
			 });
}

/* One step is one moment of training: what the checkpoint of one member answers, those of all do.
 */
static void fold_answers(struct gang_view *view, const struct gang_event *event)
{
	if (event->round != view->round.number || event->answers <= view->round.answers)
		return;
	view->round.answers = event->answers;
	note_answered(view);
}

static void fold_left_out(struct gang_view *view, const struct gang_event *event)
{
	struct gang_round *round = &view->round;

	if (event->round != round->number || !gang_view_is_open(view))
		return;
	round->state = GANG_ROUND_OVER;
	round->left_by = event->member;
	round->left_step = event->step;
	text_set(round->left_reason, sizeof(round->left_reason), event->reason);
	view->failures++;
	view->steps[event->member] = event->steps;
}

/* All end by the first notice: nothing is asked for after it. By the notice of one that leaves
 * alone, nobody else does. */
static void fold_asked(struct gang_view *view, const struct gang_event *event)
{
	if (view->notice > 0)
		return;
	view->asked = event->number;
	if (event->kind == GANG_EVENT_NOTICE)
		view->notice = event->number;
}

/* Only if all have ended by themselves: by a notice, all end with the checkpoint that answers it.
 */
static void consider_final_round(struct gang_view *view, const struct gang_event *event)
{
	if (view->ended < view->members || view->gone_count == view->members || view->left > 0 ||
	    view->notice > 0 || view->over || !view->more)
		return;
	open_round(view, &(struct gang_round){
				 .number = event->number,
				 .opener = event->member,
				 .step = -1,
				 .final = true,
			 });
}

/* Said twice, or of a job that has failed: the member has left. */
static void fold_ended(struct gang_view *view, const struct gang_event *event)
{
	enum gang_member_end *end = &view->ends[event->member];

	if (*end == GANG_HAS_LEFT || *end == GANG_HAS_GONE)
		return;
	if (*end == GANG_GOES_ON)
		view->ended++;
	if (*end == GANG_GOES_ON && event->code == 0) {
		*end = GANG_HAS_ENDED;
		view->more |= event->more;
		consider_final_round(view, event);
		return;
	}
	view->parted |=
		*end == GANG_HAS_ENDED && view->notice > 0 && !view->more && view->committed > 0;
	*end = GANG_HAS_LEFT;
	if (event->code != 0)
		memset(view->lives, 0, view->members * sizeof(bool));
	view->left++;
}

/* It has given its part in the round that is open, or has left it out; or the round waits for a
 * part that it has put. */
static void fold_gone(struct gang_view *view, const struct gang_event *event)
{
	enum gang_member_end *end = &view->ends[event->member];

	if (*end == GANG_HAS_LEFT || *end == GANG_HAS_GONE)
		return;
	view->ended += *end == GANG_GOES_ON;
	*end = GANG_HAS_GONE;
	view->gone = event->number;
	view->gone_at[event->member] =
		(struct gang_gone){event->number, event->saves, event->saves ? event->step : -1};
	view->gone_count++;
	/* What was begun for it until now is of no use without that member. */
	if (event->saves && view->notice == 0 && view->asked > view->answered)
		view->asked = event->number;
	/* The others may have waited for it alone. */
	if (!gang_view_is_open(view))
		consider_final_round(view, event);
}

bool gang_view_is_first(const struct gang_view *view, uint32_t member)
{
	if (view->members > 0 && view->gone_count == view->members)
		return view->gone_at[member].event == view->gone;
	for (uint32_t i = 0; i < member; i++)
		if (view->members == 0 || view->gone_at[i].event == 0)
			return false;
	return view->members == 0 || view->gone_at[member].event == 0;
}

static void fold_known(struct gang_view *view, const struct gang_event *event)
{
	switch (event->kind) {
	case GANG_EVENT_GO:
		return;
	case GANG_EVENT_OVER:
		view->over = true;
		return;
	case GANG_EVENT_ROUND:
		return fold_round(view, event);
	case GANG_EVENT_GOES_ON:
		view->lives[event->member] = true;
		return;
	case GANG_EVENT_PASSED:
		view->round.passed |= event->round == view->round.number;
		return;
	case GANG_EVENT_ANSWERS:
		return fold_answers(view, event);
	case GANG_EVENT_LEFT_OUT:
		return fold_left_out(view, event);
	case GANG_EVENT_REQUEST:
	case GANG_EVENT_NOTICE:
	case GANG_EVENT_LEAVING:
		return fold_asked(view, event);
	case GANG_EVENT_GONE:
		return fold_gone(view, event);
	case GANG_EVENT_ENDED:
		return fold_ended(view, event);
	}
}

bool gang_view_fold(struct gang_view *view, const struct gang_event *event, int64_t now_ms)
{
	if (event->number != view->read + 1 || event->member >= view->members)
		return false;
	view->read = event->number;
	fold_known(view, event);
	if (view->round.number == event->number)
		view->opened_ms = now_ms;
	/* A machine that has come anew is another one. */
	if (event->kind == GANG_EVENT_GO)
		note_heard_of_all(view, now_ms);
	else if (event->kind != GANG_EVENT_OVER)
		view->heard_ms[event->member] = now_ms;
	return true;
}
