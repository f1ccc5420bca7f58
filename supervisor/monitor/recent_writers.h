/* The processes that wrote checkpoints last, by the shim's word. */
#ifndef RECENT_WRITERS_H
#define RECENT_WRITERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RECENT_WRITERS 256

struct recent_writer {
	int64_t ms; /* when it last opened, wrote or closed one of their files */
	pid_t pid;
};

struct recent_writers {
	struct recent_writer items[RECENT_WRITERS];
	size_t count;
};

/* True for one that was not known. The oldest one gives way where there are too many. */
bool recent_writers_note(struct recent_writers *writers, pid_t pid, int64_t now_ms);
void recent_writers_forget(struct recent_writers *writers, pid_t pid);
/* Forgets one that is gone or a zombie, and returns its pid; 0 when there is none. Reads /proc. A
 * child of ours that exited is left to whoever waits for it. */
pid_t recent_writers_take_gone(struct recent_writers *writers);

#endif
