#include "gang_rounds.h"

#include "base/clock.h"

#include <stdio.h>

/* A notice of less is one all the same. */
#define LEFT_LEAST_MS 1000

void gang_news_identity(uint32_t member, char *text, size_t size)
{
	snprintf(text, size, "gang-%u", member);
}

static struct gang_news stop_by(const struct gang_event *event, const char *reason, int64_t left_ms)
{
	struct gang_news news = {.kind = GANG_NEWS_STOP, .left_ms = left_ms};

	if (left_ms < LEFT_LEAST_MS)
		news.left_ms = LEFT_LEAST_MS;
	gang_news_identity(event->member, news.identity, sizeof(news.identity));
	snprintf(news.reason, sizeof(news.reason), "member %u on %.40s: %.80s", event->member,
		 event->host, reason);
	return news;
}

struct gang_news gang_news_of(const struct gang_view *view, const struct gang_event *event,
			      int64_t age_ms)
{
	bool timeless = event->left_ms == CLOCK_NEVER;
	char reason[80];

	switch (event->kind) {
	case GANG_EVENT_REQUEST:
	case GANG_EVENT_LEAVING:
		return (struct gang_news){.kind = GANG_NEWS_ASKS};
	case GANG_EVENT_NOTICE:
		return stop_by(event, event->reason,
			       timeless ? CLOCK_NEVER : event->left_ms - age_ms);
	case GANG_EVENT_OVER:
		return stop_by(event, "this machine has come anew, so the attempt is over", 0);
	case GANG_EVENT_ENDED:
		/* The others would hang in their next collective until its time-out. Whoever has
		 * ended because it was asked to says 0. */
		if (event->code == 0)
			break;
		snprintf(reason, sizeof(reason), "its job has failed (exit code %d)", event->code);
		return stop_by(event, reason, 0);
	case GANG_EVENT_GO:
	case GANG_EVENT_ROUND:
	case GANG_EVENT_PASSED:
	case GANG_EVENT_ANSWERS:
	case GANG_EVENT_GOES_ON:
	case GANG_EVENT_LEFT_OUT:
		break;
	case GANG_EVENT_GONE:
		if (view->asked == event->number)
			return (struct gang_news){.kind = GANG_NEWS_ASKS};
		break;
	}
	return (struct gang_news){.kind = GANG_NEWS_NOTHING};
}

struct gang_answer gang_answer_of(const struct gang_view *view, uint32_t notice)
{
	/* A round that is open may be committed already. */
	bool parted = notice == view->notice && view->parted && !gang_view_is_open(view);

	return (struct gang_answer){
		.event = view->answered,
		.round = view->committed,
		.notice_is_over = notice > 0 && (view->answered >= notice || parted),
		.unanswered = view->answered < notice,
	};
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

/* Nothing comes of what this member waits for. */
static bool is_lost(const struct gang_view *view, const struct gang_here *here)
{
	if (view->round.final)
		return view->round.state == GANG_ROUND_OVER;
	return here->finished && here->wants && !gang_view_is_open(view) &&
	       (view->left > 0 || view->ended == view->members);
}

/* Where machines train together, a lost one makes the jobs of all others fail. So a failure counts
 * as one only once all members have said that they have ended, or that they go on. */
static struct gang_end_decision after_failure(const struct gang_view *view,
					      const struct gang_here *here)
{
	struct gang_end_decision decision = end_with(GANG_LEAVE, here->wants);
	bool busy = here->saving || !here->leaving;

	if (view->ends[here->member] == GANG_GOES_ON) {
		bool waits = busy && here->now_ms < here->ended_ms + GANG_FAILED_SAVES_MS;

		decision.action = waits ? GANG_STAY : GANG_SAY_ENDED;
		return decision;
	}
	while (decision.silent < view->members &&
	       (view->ends[decision.silent] != GANG_GOES_ON || view->lives[decision.silent]))
		decision.silent++;
	decision.is_silent = decision.silent < view->members;
	if (decision.is_silent && here->now_ms < here->ended_ms + GANG_SILENT_MS)
		decision.action = GANG_STAY;
	return decision;
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
	if (here->code != 0 && !view->over)
		return after_failure(view, here);
	if (said == GANG_GOES_ON && !view->over)
		return before_saying(view, here);
	leave.lost = is_lost(view, here);
	if (here->saving || (final_is_open && !view->over) || (!here->leaving && !leave.lost))
		return end_with(GANG_STAY, false);
	if (view->over || view->ended == view->members || said == GANG_HAS_LEFT || leave.lost)
		return leave;
	return end_with(is_free(view, here, asked) ? GANG_SAY_ENDED : GANG_STAY, here->wants);
}
