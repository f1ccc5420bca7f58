/*
 * Sends records to the supervisor. Sending never blocks or allocates and keeps errno. It does
 * nothing if there is no supervisor, if its version is another, or in a vfork() child, which shares
 * its parent's memory.
 */
#ifndef CHANNEL_WRITER_H
#define CHANNEL_WRITER_H

#include "path_resolve.h"

#include <stdatomic.h>
#include <stdbool.h>

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

#endif
