/*
 * PURE. Who has come to the start of a gang, and who counts: of two that say that they are the same
 * member, the one that came later, since a machine that was replaced may wake up; of two starts
 * that the launcher tells apart, the later one as a whole.
 */
#ifndef GANG_ROSTER_H
#define GANG_ROSTER_H

#include "storage/storage.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Another number of members, or one that cannot be a member, is an error of all if it came in this
 * time before this one, or later; what is older was left by a start that failed. So was what its
 * machine has said otherwise since. And two machines that are one member are so if they began
 * within it: nobody is replaced so soon while it lives. */
#define GANG_CONTRADICTION_MS 60000

enum gang_roster_state {
	ROSTER_WAITING,
	ROSTER_COMPLETE,
	/* Another process that came later says that it is this member. */
	ROSTER_REPLACED,
	/* The launcher has started the gang once more since. */
	ROSTER_OUTRUN,
	/* Another machine says that there is another number of members. */
	ROSTER_CONTRADICTED,
	/* Two of one start say that they are one member, where the launcher starts nobody again
	 * alone. */
	ROSTER_DOUBLED,
	/* Another process that came later says that it is this member, on another machine, and
	 * began at about the same time: none has taken the place of the other. */
	ROSTER_TWICE,
	/* One says that it cannot be a member (join.members 0: it does not know which one, and is
	 * of the same launch). */
	ROSTER_REFUSED,
};

/* What is known beside the joins. */
struct gang_roster_view {
	/* The launcher starts all of a start again, or nobody. */
	bool whole;
	/* Whoever was there before this process began has had the time to be started again, if it
	 * is to be: what contradicts this start counts. */
	bool settled;
};

struct gang_roster {
	enum gang_roster_state state;
	uint32_t there;
	/* WAITING: the first member that has not come. */
	uint32_t missing;
	/* REPLACED, TWICE, OUTRUN, CONTRADICTED, REFUSED: by this one; DOUBLED: these two. */
	struct gang_join by, with;
};

/* What the clock of a store does not tell apart. */
#define GANG_SAME_TIME_MS 2000

/* Whether the launcher has told these two apart as two starts. */
bool gang_launch_differs(const struct gang_join *a, const struct gang_join *b);
/* Of two of one member, or of two starts: whether `a` is the later one. It goes by when each
 * process began, by the store's clock, and of two that began at the same time by what each found
 * when it came; of two that came at once the nonces decide, for all alike. */
bool gang_join_is_later(const struct gang_join *a, const struct gang_join *b);

/* `own` is among the joins, unless it is not listed yet. */
struct gang_roster gang_roster_judge(const struct gang_join *joins, size_t count,
				     const struct gang_join *own, struct gang_roster_view view);

/* Of the joins of one's own start, the newest of each member; all must be there. (None of
 * those is refused.) */
void gang_roster_choose(const struct gang_join *joins, size_t count, const struct gang_join *own,
			struct gang_join *chosen);

#endif
