/*
 * The runtime directory of one supervisor, where its clients find it: control socket, notice file,
 * shim channel. It is removed when the supervisor ends; after a kill, a next supervisor removes
 * it (left_session.h), once the job that was left behind has ended as well. A supervisor is alive
 * while it holds the lock in its directory: the kernel releases that with the process, and it works
 * across PID namespaces that share a /tmp.
 */
#ifndef SESSION_H
#define SESSION_H

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/err.h"

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

/* Lets one start of this job at a time, on this machine, look for others of it that live and claim
 * its attempt. Blocks, for 10 seconds at most. Returns a descriptor, to close once it has claimed;
 * -1: the start goes on without. */
int session_lock_start(const char *job, struct cancel *cancel);

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

#endif
