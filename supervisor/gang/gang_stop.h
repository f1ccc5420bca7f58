/*
 * PURE. How a member ends: what the log means for the job here, what the member says once its job
 * has ended, how long it stays for the rounds of the others, and what it leaves them with.
 */
#ifndef GANG_STOP_H
#define GANG_STOP_H

#include "gang_rounds.h"

/* --- what others have told --- */

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

/* --- the end --- */

enum gang_end_action {
	/* It trains, or waits: for its own files, or because others need a part of it. */
	GANG_STAY,
	/* To append that its job has ended: `more`. Once more: it leaves. */
	GANG_SAY_ENDED,
	/* To append that it has gone, and the others go on without it. */
	GANG_SAY_GONE,
	GANG_LEAVE,
};

struct gang_end_decision {
	enum gang_end_action action;
	/* There are files here that no snapshot of all holds. */
	bool more;
	/* LEAVE: the final round is not durable, or will not be opened. */
	bool lost;
	/* LEAVE: the job has failed here, and member `silent` has said nothing since: its machine
	 * is lost, and the error follows from that. */
	bool is_silent;
	uint32_t silent;
};

/* A job that has failed has its last checkpoint saved for so long, before the others are told. */
#define GANG_FAILED_SAVES_MS 5000
/* So long after its job has failed a member waits for the `ended` of all others, which they say
 * once they have read of the failure. */
#define GANG_SILENT_MS 20000

/* What a member that leaves alone appends last, when it has no time left to wait for the others. */
enum gang_last_word {
	GANG_LAST_NOTHING,
	/* First, storage_gang_void_part(): it is not known whether its part lies in the open round.
	 */
	GANG_LAST_VOID_PART,
	/* There is none, and none will be: the round is left out. */
	GANG_LAST_LEAVE_OUT,
	GANG_LAST_SAY_GONE,
};
/* `settled`: of this round it is known that its part lies there. */
enum gang_last_word gang_leave_last_word(const struct gang_view *view, const struct gang_here *here,
					 uint32_t settled);

/* What a member does about its end. `asked`: the notice that it ends by; 0: none. */
struct gang_end_decision gang_leave_decide(const struct gang_view *view,
					   const struct gang_here *here, uint32_t asked);

#endif
