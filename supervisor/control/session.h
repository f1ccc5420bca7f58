/*
 * The runtime directory of one supervisor, where its clients find it: control socket, notice file,
 * the shim's channel. It lives as long as its process; one whose process was killed is removed by
 * the next supervisor. Alive means that a lock in it is held, which the kernel drops with the
 * process and which holds across PID namespaces that share a /tmp.
 */
#ifndef SESSION_H
#define SESSION_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

struct session {
	char *directory; /* absolute; short enough that any file in it fits a socket's address */
	int lock_fd;
};

/*
 * Makes it below $XDG_RUNTIME_DIR/reprieve, else /tmp/reprieve-UID, else /dev/shm/reprieve-UID,
 * each only if it is ours alone (owner, mode 0700, no link), and removes dead ones there. On
 * failure `session` is empty and every function here does nothing with it: ERR_DENIED when no place
 * is writable or safe; the caller may go on without.
 */
int session_open(const char *job, struct session *session, struct err *err);

/* Removes the directory with all in it. */
void session_close(struct session *session);

static inline void cleanup_session_close(struct session *session)
{
	session_close(session);
}

/* Names in the directory. */
#define SESSION_CONTROL "control.sock" /* control_socket.h */
#define SESSION_NOTICE "notice"        /* REPRIEVE_NOTICE_FILE: appears on a notice */
#define SESSION_CHANNEL "channel"      /* shim.h */
#define SESSION_WAKEUP "doorbell"      /* shim.h */

/* "DIRECTORY/name"; NULL without a session. The caller frees. */
char *session_path(const struct session *session, const char *name);

/* The directory that the sessions of this user are in, made where it is missing; NULL where there
 * is none. The caller frees. */
char *session_shared_directory(void);

/* Whether its supervisor still lives. */
bool session_is_alive(const char *directory);

/* Calls `each` for every live session of this user, until it returns false. */
struct session_info {
	pid_t pid; /* in its own PID namespace */
	const char *job;
	const char *directory;
};
void session_each(bool (*each)(void *arg, const struct session_info *info), void *arg);

#endif
