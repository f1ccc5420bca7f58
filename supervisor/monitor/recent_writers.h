/* The processes that wrote checkpoints last, as the shim reports them. */
#ifndef RECENT_WRITERS_H
#define RECENT_WRITERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RECENT_WRITERS 256

struct recent_writer {
	/* of its first and its last report about a checkpoint file, CLOCK_MONOTONIC */
	int64_t first_ms, ms;
	pid_t pid;
};

struct recent_writers {
	struct recent_writer items[RECENT_WRITERS];
	size_t count;
};

/* True: the process is new here. If the table is full, the oldest entry is replaced. */
bool recent_writers_note(struct recent_writers *writers, pid_t pid, int64_t now_ms);
bool recent_writers_has(const struct recent_writers *writers, pid_t pid);
void recent_writers_forget(struct recent_writers *writers, pid_t pid);
/* Removes one process that is gone or a zombie, and returns its PID; 0: there is none. Our own
 * children are left to the code that reaps them. Reads /proc. */
pid_t recent_writers_take_gone(struct recent_writers *writers);

#endif
