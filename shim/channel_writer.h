/*
 * Sends records to the supervisor. Sending never blocks or allocates and keeps errno. It does
 * nothing if there is no supervisor, if its version is another, or in a vfork() child, which shares
 * its parent's memory.
 */
#ifndef CHANNEL_WRITER_H
#define CHANNEL_WRITER_H

#include "shim.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

/* --- path_resolve.c --- */

/*
 * Finds out where a file is in relation to the checkpoint directory. No allocation, and no libc
 * call that may be interposed. May change errno: callers save it.
 */

struct resolved_path {
	bool inside;     /* strictly below the directory */
	bool regular;    /* path_resolve_fd(): a regular file, or its type is unknown */
	unsigned flags;  /* SHIM_FLAG_TRUNCATED_PATH, _EMPTY, _DELETED */
	uint16_t length; /* of `path`, relative to the directory; 0 when outside */
	uint64_t device, inode;
	char path[SHIM_PATH_MOST];
};

/* Resolves a descriptor by what the kernel knows (/proc/self/fd), so links on the way do not
 * matter. `path`, as the application gave it, is used if /proc is not mounted; may be NULL. */
void path_resolve_fd(const struct shim_header *header, int fd, int directory_fd, const char *path,
		     struct resolved_path *resolved_path);

/* Resolves a path by its text and the directories above it, because the file may no longer exist. A
 * symbolic link within the directory makes it appear under another name. */
void path_resolve_name(const struct shim_header *header, int directory_fd, const char *path,
		       struct resolved_path *resolved_path);

/* The normalised absolute path, terminated, in place of the relative one, and `inside`, so that it
 * is sent. False: it is too long, or cannot be found out. */
bool path_resolve_absolute(int directory_fd, const char *path, struct resolved_path *resolved_path);

/* "before" and the number, without a call of libc's. */
void path_with_number(char path[40], const char *before, unsigned number);

/* A small cache of absolute paths that were found to be outside the directory, so that opening the
 * same file or device again is cheap. */
bool path_is_known_outside(const char *path);
void path_remember_outside(const char *path);

/* --- peer.c --- */

/* Checks on the supervisor's process from within a signal handler. Makes system calls only; may
 * change errno. */

/* Whether the supervisor lives, by pid and start time; a zombie counts as dead. If /proc cannot be
 * read, the pid alone decides. */
bool peer_is_alive(const struct shim_header *header);

/* In another PID namespace than the supervisor's, this process's pid means nothing to it. */
enum channel_pidns {
	CHANNEL_PIDNS_UNASKED,
	CHANNEL_PIDNS_UNKNOWN,
	CHANNEL_PIDNS_SAME,
	CHANNEL_PIDNS_OTHER,
};

enum channel_pidns peer_pidns(const struct shim_header *header);
/* The same, asked once in a process. Call only after channel_ready(). */
enum channel_pidns channel_pidns(void);

enum channel_state {
	CHANNEL_UNTRIED,
	CHANNEL_STARTING,
	CHANNEL_ACTIVE,
	CHANNEL_OFF
};

extern _Atomic int channel_state;

/* False if this process will never send anything. Costs one load. */
static inline bool channel_is_possible(void)
{
	int state = atomic_load_explicit(&channel_state, memory_order_acquire);

	return state == CHANNEL_ACTIVE || state == CHANNEL_UNTRIED;
}

/* True if this process may send records and change its tables. Costs one system call; the first
 * call maps the channel, and may come before our constructor, from that of another library. */
bool channel_ready(void);

/* What never changes in the header, as it was when this process mapped it. Call only after
 * channel_ready(). */
const struct shim_header *channel_header(void);
/* What changes: is a SIGTERM to be held back now? */
enum shim_hold channel_sigterm_hold(void);

/* Sends one record; `path` and `path2` may be NULL. Call only after channel_ready(). */
void channel_send(enum shim_event event, int descriptor, unsigned flags,
		  const struct resolved_path *path, const struct resolved_path *path2);

/* A file was opened for writing, with these flags of open(). */
void channel_send_opened(int fd, int open_flags, const struct resolved_path *path);
/* Sends EXITING, once per process. `code` as passed to exit(). */
void channel_send_exiting(int code, unsigned flags);

/* --- saved_elsewhere.c --- */

/*
 * Looks for checkpoints that the job saves outside the checkpoint directory, where nobody watches
 * them. A file counts by its name alone. Each process reports one for each of at most
 * SAVED_ELSEWHERE_MOST directories, and one more: that one when it is saved again, or another with
 * a number ("step-20.pt"). No allocation, no lock; for a name that does not look like a
 * checkpoint's, no system call. May change errno: callers save it.
 */

#define SAVED_ELSEWHERE_MOST 8

/* PURE. Does the path end in a name that checkpoints have: "model.pt", "ckpt-10", or any file in
 * "checkpoint-10/"? */
bool saved_elsewhere_is_checkpoint_name(const char *path);

/* PURE. May checkpoints be kept at that absolute path? False for temporary files, caches, installed
 * packages, hidden directories, and our own folders. `directory` is the checkpoint directory: if it
 * is below /tmp, checkpoints may be there. */
bool saved_elsewhere_is_kept_place(const char *path, const char *directory);

/* Reports the file if it is such a checkpoint. It was made or emptied (open), or got this name
 * (rename), and is not in the checkpoint directory. `path` may be NULL. Call only after
 * channel_ready(). */
void saved_elsewhere_report(int directory_fd, const char *path);

/* --- sigterm_handler.c --- */

/*
 * Holds back a SIGTERM from outside the job until the supervisor releases it, whether the
 * application has a handler or would die. The kernel has our handler installed; the application
 * sees its own, because hooks_signals.c asks here. PROTOCOL.md has the rules.
 */

/* Our handler is installed in this process. */
extern atomic_bool sigterm_handler_installed;

/* Installs the handler if the supervisor wants it and can be identified here, and ignores notices.
 * Call only after channel_ready(). */
void sigterm_handler_install(void);

/* Call in a child of fork(): a signal that the parent holds is the parent's. */
void sigterm_handler_forked(void);

/* sigaction() for SIGTERM and SHIM_MARK_SIGNAL, as the application sees it. Only with
 * sigterm_handler_installed. */
int sigterm_handler_sigaction(int signal, const struct sigaction *action, struct sigaction *old);

/*
 * Call these around a function of libc that sets a handler for one of those two signals in its own
 * way: they take over the handler it has set. `returned` is what it returned; the result is what
 * the application gets. Only with sigterm_handler_installed.
 */
typedef void sigterm_handler_fn(int signal);
void sigterm_handler_begin_change(void);
sigterm_handler_fn *sigterm_handler_end_change(int signal, sigterm_handler_fn *returned);

/* A signal that is a notice to the supervisor, and goes to every process (SIGUSR2 of Grid
 * Engine's): the kernel ignores it in a process that has no handler for it, and the application
 * sees SIG_DFL. False until sigterm_handler_install(). */
bool sigterm_handler_is_notice(int signal);
/* sigaction() for such a signal, as the application sees it. */
int sigterm_handler_set_notice(int signal, const struct sigaction *action, struct sigaction *old);

#endif
