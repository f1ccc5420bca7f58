/*
 * PURE. What the log of an attempt says (storage_gang.h): every member folds the same events in the
 * same order, so that all come to the same view. What lies in the store beside the log, such as the
 * commit of a round, is told by whoever has seen it.
 */
#ifndef GANG_VIEW_H
#define GANG_VIEW_H

#include "storage/storage.h"

#include <stdbool.h>
#include <stdint.h>

enum gang_round_state {
	/* No round was opened yet. */
	GANG_ROUND_NONE,
	GANG_ROUND_OPEN,
	GANG_ROUND_COMMITTED,
	/* It never will be: a member has left it out. */
	GANG_ROUND_OVER,
};

/* The newest round. One before it that is not over is committed: nobody opens a round before it
 * knows what became of the one before. */
struct gang_round {
	/* Of its event, and of its snapshot. */
	uint32_t number;
	enum gang_round_state state;
	uint32_t opener;
	/* The step of its checkpoint, or (at_least) the least that it may have; -1: it has none. */
	int64_t step;
	bool at_least;
	/* The jobs of all have ended, and each member gives what is there: the last round. */
	bool final;
	/* A member that has given its part has completed a later checkpoint since. */
	bool passed;
	/* The newest GANG_EVENT_GONE when it was opened: those that had gone give no part. 0: none
	 * had. */
	uint32_t gone;
	/* OVER: by whom, at which step, and why. */
	uint32_t left_by;
	int64_t left_step;
	char left_reason[160];
};

enum gang_member_end {
	GANG_GOES_ON,
	/* Its job has ended. It stays for the rounds of the others. */
	GANG_HAS_ENDED,
	/* It gives no more parts. */
	GANG_HAS_LEFT,
	/* The same, and the others go on without it: it counts as one that has ended. */
	GANG_HAS_GONE,
};

struct gang_gone {
	/* The number of its GANG_EVENT_GONE; 0: it has not gone. */
	uint32_t event;
	/* Its job saves; and the step that it began to save last, or -1. */
	bool saves;
	int64_t step;
};

struct gang_view {
	uint32_t members;
	/* The number of the last event that was folded. */
	uint32_t read;
	bool started;
	/* A machine has come anew: the attempt is over. */
	bool over;
	uint32_t anew;
	char anew_host[65];

	struct gang_round round;
	/* The newest round that is known to be committed; 0: none. */
	uint32_t committed;
	/* Rounds in a row that were left out; and what each member that has left out one of them
	 * had then (count 0: it has not said). */
	unsigned failures;
	struct gang_steps *steps;

	/* The first notice: all end by it. 0: there is none. */
	uint32_t notice;
	/* What is asked for: the newest request, the first notice, or what one that has gone has
	 * left unanswered; and the newest event that a committed round answers. */
	uint32_t asked, answered;
	/* The newest round of which that is known. */
	uint32_t looked;
	/* Of each member. */
	enum gang_member_end *ends;
	uint32_t ended, left;
	/* Of each member: it has said since the newest failure of a job that its own goes on. */
	bool *lives;
	/* Of each member; the newest event of them; and how many have gone. */
	struct gang_gone *gone_at;
	uint32_t gone, gone_count;
	/* A member whose job has ended has files in no snapshot. */
	bool more;
	/* A member has left after a notice, and all that any has ended with is in a committed
	 * snapshot: what the others save from then on is no checkpoint of all. */
	bool parted;
	/* The first that has left, if any has. */
	uint32_t first_left;
};

struct gang_view gang_view_new(uint32_t members);
void gang_view_release(struct gang_view *view);
AUTO(struct gang_view, gang_view_release);

/* The next event. False, and nothing is changed: it is not the next one, or makes no sense. */
bool gang_view_fold(struct gang_view *view, const struct gang_event *event);
/* The snapshot of the round is in the store. */
void gang_view_committed(struct gang_view *view, uint32_t round);
/* ... and answers what was asked up to this event (storage_gang_answers()). */
void gang_view_answers(struct gang_view *view, uint32_t round, uint32_t event);
/* Whether the member had gone when the newest round was opened: it gives no part in it. */
static inline bool gang_view_does_without(const struct gang_view *view, uint32_t member)
{
	uint32_t event = view->gone_at[member].event;

	return event > 0 && event <= view->round.gone;
}
/* One member does for all what is done once in an attempt: the lowest that has not gone, or the
 * last to go. */
bool gang_view_is_first(const struct gang_view *view, uint32_t member);
/* It is to be looked up whether the newest snapshot answers what is asked for. */
static inline bool gang_view_wants_answers(const struct gang_view *view)
{
	return view->asked > view->answered && view->committed > view->looked;
}

static inline bool gang_view_is_open(const struct gang_view *view)
{
	return view->round.state == GANG_ROUND_OPEN;
}

#endif
