/*
 * PURE. How a member ends: what it says once its job has, how long it stays for the rounds of the
 * others, and what it leaves them with.
 */
#ifndef GANG_LEAVE_H
#define GANG_LEAVE_H

#include "gang_rounds.h"

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
};

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
