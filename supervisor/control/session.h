/*
 * The runtime directory of one supervisor, where its clients find it: control socket, notice file,
 * shim channel. It is removed when the supervisor ends; after a kill, a next supervisor removes
 * it (left_session.h), once the job that was left behind has ended as well. A supervisor is alive
 * while it holds the lock in its directory: the kernel releases that with the process, and it works
 * across PID namespaces that share a /tmp.
 */
#ifndef SESSION_H
#define SESSION_H

#include "base/cleanup.h"
#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

struct session {
	char *directory; /* absolute; short enough that any file in it fits a socket address */
	int lock_fd;
};

/*
 * `member`: of a gang, which one of its supervisors this is; else 0.
 *
 * Creates the directory below $XDG_RUNTIME_DIR/reprieve, else /tmp/reprieve-UID, else
 * /dev/shm/reprieve-UID, else $XDG_CACHE_HOME/reprieve (~/.cache), if that is private (our own,
 * mode 0700, no link): others can take the names in /tmp before us. ERR_DENIED: no place is
 * writable and private. Then `session` is empty, every function here does nothing with it, and the
 * caller may continue without.
 */
int session_open(const char *job, unsigned member, struct session *session, struct err *err);

/* Removes the directory and its contents. */
void session_close(struct session *session);
AUTO(struct session, session_close);

/* Writes down the main process of the job, for whoever starts here when we have been killed. */
void session_note_job(const struct session *session, pid_t pid);

/* Writes down where the job is saved, for the same. `store` is a URL. */
void session_note_store(const struct session *session, const char *store);

/* Writes down the checkpoint directory, canonical, and the name of this boot: from then on there is
 * something for the next start in that directory to read. */
void session_note_place(const struct session *session, const char *directory, const char *boot);

/* Names in the directory. */
#define SESSION_CONTROL "control.sock" /* control_socket.h */
#define SESSION_NOTICE "notice"        /* REPRIEVE_NOTICE_FILE: appears on a notice */
#define SESSION_CHANNEL "channel"      /* shim.h */
#define SESSION_WAKEUP "doorbell"      /* shim.h */

/* "DIRECTORY/name"; NULL: there is no session. The caller frees. */
char *session_path(const struct session *session, const char *name);

/* The parent directory of this user's sessions, created if it is missing; NULL: none is possible.
 * The caller frees. */
char *session_shared_directory(void);

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
