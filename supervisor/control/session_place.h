/*
 * PRIVATE: where the sessions of this user lie, and what session.c writes there for
 * session_search.c to read.
 */
#ifndef SESSION_PLACE_H
#define SESSION_PLACE_H

#include "base/err.h"

#include <stdint.h>

/* The directories that may hold sessions, best first: 0 to SESSION_PARENTS - 1. NULL: there is no
 * such place here. The caller frees. */
#define SESSION_PARENTS 4
char *session_parent(int index);

/* Everybody may write to /tmp: another user may have created something there under our name.
 * ERR_DENIED: it is not this user's alone. */
int session_parent_check(const char *path, struct err *err);
/* The same, after it was created if it was missing. */
int session_parent_make(const char *path, struct err *err);

/* The lock of a session, which its supervisor holds for as long as it lives. -1 with errno. */
int session_open_lock(const char *directory, int flags);

/* Inode of our PID namespace: PIDs are not comparable between two. 0: unknown. */
uint64_t session_pid_namespace(void);

/* Names in a session, beside those of session.h, and what they hold. */
#define SESSION_JOB "job"         /* the name of the job */
#define SESSION_MEMBER "member"   /* which one of its gang; else 0 */
#define SESSION_PROCESS "process" /* "PID START_TIME PID_NAMESPACE" of the job's main process */
#define SESSION_STORE "store"     /* the URL of the store */
#define SESSION_PLACE "place"     /* "BOOT DIRECTORY" */

#endif
