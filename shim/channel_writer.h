/*
 * The channel to the supervisor. Sending never blocks, never allocates, keeps errno, and does
 * nothing at all where there is no supervisor, its version is another, or this is a vfork() child
 * that borrows its parent's memory.
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

/* Cheap: false where nothing will ever be reported. */
static inline bool channel_is_possible(void)
{
	int state = atomic_load_explicit(&channel_state, memory_order_acquire);

	return state == CHANNEL_ACTIVE || state == CHANNEL_UNTRIED;
}

/* True when this process may report and change what it tracks. Maps the channel at the first call,
 * which may come before our constructor, from that of another library. One system call. */
bool channel_ready(void);

/* Only after channel_ready(). */
const struct shim_header *channel_header(void);

/* `path` and `path2` may be NULL. Only after channel_ready(). */
void channel_send(enum shim_event event, int descriptor, unsigned flags,
		  const struct resolved_path *path, const struct resolved_path *path2);

/* Once per process. `code` as given to exit(). */
void channel_send_exiting(int code, unsigned flags);

#endif
