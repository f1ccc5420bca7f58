#include "gang_news.h"

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
	case GANG_EVENT_REJOIN:
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
	/* A round that is open may be committed already, and one that is committed may answer it.
	 */
	bool parted = notice == view->notice && view->parted && !gang_view_is_open(view) &&
		      !gang_view_wants_answers(view);

	return (struct gang_answer){
		.event = view->answered,
		.round = view->committed,
		.notice_is_over = notice > 0 && (view->answered >= notice || parted),
		.unanswered = view->answered < notice,
	};
}
