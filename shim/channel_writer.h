/*
 * The channel to the supervisor. Sending never blocks, never allocates, keeps errno, and does nothing at all where there is no
 * supervisor, its version is another, or this is a vfork() child that borrows its parent's memory.
 */
#ifndef CHANNEL_WRITER_H
#define CHANNEL_WRITER_H

#include "path_resolve.h"

#include <stdatomic.h>
#include <stdbool.h>

enum report_state {
	REPORT_UNTRIED,
	REPORT_STARTING,
	REPORT_ACTIVE,
	REPORT_OFF
};

extern _Atomic int report_state;

/* Cheap: false where nothing will ever be reported. */
static inline bool report_possible(void)
{
	int state = atomic_load_explicit(&report_state, memory_order_acquire);

	return state == REPORT_ACTIVE || state == REPORT_UNTRIED;
}

/* True when this process may report and change what it tracks. Maps the channel at the first call, which may come before our
 * constructor, from that of another library. One system call. */
bool report_ready(void);

/* Only after report_ready(). */
const struct shim_header *report_header(void);

/* `path` and `path2` may be NULL. Only after report_ready(). */
void report_send(enum shim_event event, int descriptor, unsigned flags, const struct place *path,
	const struct place *path2);

/* Once per process. `code` as given to exit(). */
void report_exiting(int code, unsigned flags);

#endif
