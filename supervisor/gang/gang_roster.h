/*
 * PURE. Who has come to the start of a gang. Of two that say that they are the same member, the one
 * that came later counts: a machine that was replaced may wake up.
 */
#ifndef GANG_ROSTER_H
#define GANG_ROSTER_H

#include "storage/storage.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Another number of members is a contradiction if it came in this time before this one, or later;
 * what is older was left by a start that failed. */
#define GANG_CONTRADICTION_MS 60000

enum gang_roster_state {
	ROSTER_WAITING,
	ROSTER_COMPLETE,
	/* Another machine that came later says that it is this member. */
	ROSTER_REPLACED,
	/* Another machine says that there is another number of members. */
	ROSTER_CONTRADICTED,
};

struct gang_roster {
	enum gang_roster_state state;
	uint32_t there;
	/* WAITING: the first member that has not come. */
	uint32_t missing;
	/* REPLACED, CONTRADICTED: by this one. */
	struct gang_join by;
};

/* Whether `a` came later than `b`. Of one moment, the nonces decide, for all alike. */
bool gang_join_is_later(const struct gang_join *a, const struct gang_join *b);

/* `own` is among the joins, unless it is not listed yet. */
struct gang_roster gang_roster_judge(const struct gang_join *joins, size_t count,
				     const struct gang_join *own);

/* The newest join of each member, which all must be there. */
void gang_roster_choose(const struct gang_join *joins, size_t count, uint32_t members,
			struct gang_join *chosen);

#endif
