#include "gang_view.h"

#include "base/text.h"

#include <stdlib.h>

struct gang_view gang_view_new(uint32_t members)
{
	return (struct gang_view){
		.members = members,
		.ends = memory_new(members * sizeof(enum gang_member_end)),
	};
}

void gang_view_release(struct gang_view *view)
{
	free(view->ends);
	*view = (struct gang_view){0};
}

void gang_view_committed(struct gang_view *view, uint32_t round)
{
	if (round <= view->committed)
		return;
	view->committed = round;
	if (round != view->round.number)
		return;
	view->round.state = GANG_ROUND_COMMITTED;
	view->failures = 0;
}

void gang_view_answers(struct gang_view *view, uint32_t round, uint32_t event)
{
	if (round > view->looked)
		view->looked = round;
	if (event > view->answered)
		view->answered = event;
}

static void fold_round(struct gang_view *view, const struct gang_event *event)
{
	if (gang_view_is_open(view))
		gang_view_committed(view, view->round.number);
	view->round = (struct gang_round){
		.number = event->number,
		.state = GANG_ROUND_OPEN,
		.opener = event->member,
		.step = event->step,
		.at_least = event->at_least,
	};
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
}

/* All end by the first notice: nothing is asked for after it. */
static void fold_asked(struct gang_view *view, const struct gang_event *event)
{
	if (view->notice > 0)
		return;
	view->asked = event->number;
	if (event->kind == GANG_EVENT_NOTICE)
		view->notice = event->number;
}

/* Said twice, or of a job that has failed: the member has left. */
static void fold_ended(struct gang_view *view, const struct gang_event *event)
{
	enum gang_member_end *end = &view->ends[event->member];

	if (*end == GANG_HAS_LEFT)
		return;
	if (*end == GANG_GOES_ON)
		view->ended++;
	if (*end == GANG_GOES_ON && event->code == 0) {
		*end = GANG_HAS_ENDED;
		return;
	}
	*end = GANG_HAS_LEFT;
	if (view->left++ == 0)
		view->first_left = event->member;
}

static void fold_rejoin(struct gang_view *view, const struct gang_event *event)
{
	if (view->over)
		return;
	view->over = true;
	view->anew = event->member;
	text_set(view->anew_host, sizeof(view->anew_host), event->host);
}

bool gang_view_fold(struct gang_view *view, const struct gang_event *event)
{
	if (event->number != view->read + 1 || event->member >= view->members)
		return false;
	view->read = event->number;
	switch (event->kind) {
	case GANG_EVENT_GO:
		view->started = true;
		break;
	case GANG_EVENT_REJOIN:
		fold_rejoin(view, event);
		break;
	case GANG_EVENT_ROUND:
		fold_round(view, event);
		break;
	case GANG_EVENT_PASSED:
		view->round.passed |= event->round == view->round.number;
		break;
	case GANG_EVENT_LEFT_OUT:
		fold_left_out(view, event);
		break;
	case GANG_EVENT_REQUEST:
	case GANG_EVENT_NOTICE:
		fold_asked(view, event);
		break;
	case GANG_EVENT_ENDED:
		fold_ended(view, event);
		break;
	}
	return true;
}
