/*
 * Sessions (session.h) as others find them: clients that look for a running supervisor, and the
 * next one, for which a killed one has left something.
 */
#ifndef SESSION_SEARCH_H
#define SESSION_SEARCH_H

#include "session.h"

#include <stdbool.h>

/* Is the supervisor of this session directory alive? */
bool session_is_alive(const char *directory);

/* Calls `each` for every live session of this user, until it returns false. */
struct session_info {
	pid_t pid; /* of the supervisor, in its own PID namespace */
	const char *job;
	const char *directory;
	const char *store; /* as it was noted; NULL: it was not, or this is not an orphan */
};
void session_each(bool (*each)(void *arg, const struct session_info *info), void *arg);

/* The same for every job of this user whose supervisor was killed, and which runs on: `pid` is its
 * own. In this PID namespace, as far as the place of our sessions is shared. */
void session_each_orphan(bool (*each)(void *arg, const struct session_info *info), void *arg);

/* Calls `each` for the session of every dead supervisor of this user that had the checkpoint
 * directory, if nothing is left running of it. Nobody removes it meanwhile. */
void session_each_dead(const char *directory, void (*each)(void *arg, const char *session),
		       void *arg);

/* Removes the sessions of dead supervisors beside this one, if nothing is left of their jobs, but
 * those that are for starts in other directories to read (left_session.h). Of these it takes away
 * whose they were. No checkpoint directory is touched. */
void session_remove_dead(const struct session *session, const char *directory, const char *boot);

/* The supervisor of this member was here and was killed: its directory is there, nobody holds the
 * lock in it, and no other process is this member. False: it lives, or nothing is known of it; the
 * next supervisor that starts here takes away what says so. */
bool session_member_is_gone(const char *job, unsigned member);

#endif
