/* Does the supervisor of an attempt without an end record still live? The attempt's records cannot
 * tell a machine that has vanished from one that still runs. The sessions of this machine can, for
 * the supervisors on it. */
#ifndef ATTEMPT_LIFE_H
#define ATTEMPT_LIFE_H

#include "attempt_outcomes.h"

enum attempt_life {
	ATTEMPT_MAY_LIVE,
	ATTEMPT_LIVES_HERE, /* for certain */
	ATTEMPT_IS_GONE,    /* it was begun here, and there is no such process */
};

/* Reads the sessions of this machine; does not block for the store. `job`: the name of the job. */
enum attempt_life attempt_life_of(const struct open_attempt *open, const char *job);

#endif
