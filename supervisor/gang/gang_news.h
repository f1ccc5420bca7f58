/* PURE. What the log of a gang means for this member's job: what another member has told, and what
 * is answered of that which was asked. */
#ifndef GANG_NEWS_H
#define GANG_NEWS_H

#include "gang_view.h"

enum gang_news_kind {
	GANG_NEWS_NOTHING,
	GANG_NEWS_ASKS, /* for a checkpoint */
	GANG_NEWS_STOP, /* the job is to end here too, within `left_ms` (CLOCK_NEVER: unknown) */
};

struct gang_news {
	enum gang_news_kind kind;
	int64_t left_ms;
	/* Of the notice: "gang-3", and "member 3 on host: its job has failed (exit code 1)". */
	char identity[24], reason[160];
};

/* An event of another member, or of this one that has come anew, which was folded into the view
 * last; `age_ms`: so old it may be. */
struct gang_news gang_news_of(const struct gang_view *view, const struct gang_event *event,
			      int64_t age_ms);
/* "gang-3": the identity of a notice that was given at this member. */
void gang_news_identity(uint32_t member, char *text, size_t size);

/* What is durable of all members. */
struct gang_answer {
	uint32_t event; /* the newest that is answered */
	uint32_t round; /* by this snapshot */
	/* What the notice asks for that this member ends by is answered, or will not be any more;
	 * and the latter. */
	bool notice_is_over, unanswered;
};

/* `notice`: gang_rounds_notice(). */
struct gang_answer gang_answer_of(const struct gang_view *view, uint32_t notice);

#endif
