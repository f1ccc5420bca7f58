/*
 * PURE: does the session of a dead supervisor stay? A start in its checkpoint directory reads there
 * what the job had reported last (monitor/left_channel.h), and removes it. Where several jobs of
 * one machine were killed together, each start finds the sessions of all: those of the others stay
 * for their own starts, within bounds, because some directories are never started in again.
 */
#ifndef LEFT_SESSION_H
#define LEFT_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each has at most some 2 MiB. */
#define LEFT_SESSIONS_MOST 32
#define LEFT_SESSION_AGE_MOST_S (7 * 24 * 3600)

struct left_session {
	bool placed;    /* it says where, so there is a channel; else nothing of it is ever read */
	bool own;       /* it is of the directory of the start that looks, which has read it */
	bool this_boot; /* after a restart of the machine, nobody believes it */
	int64_t age_s;  /* since a start found it */
	size_t newer;   /* so many that stay are younger */
};

bool left_session_stays(const struct left_session *left);

#endif
