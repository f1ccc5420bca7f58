/*
 * Looks at the checkpoint directory again and again, where the kernel's events do not tell all: network file systems, and directories
 * that could not be watched. Reads names, sizes, times and numbers on a thread of its own, past the caches of NFS and FUSE; a
 * server that hangs holds up nothing but that thread.
 */
#ifndef DIRECTORY_POLLER_H
#define DIRECTORY_POLLER_H

#include "base/loop.h"
#include "directory_scan.h"

#include <stdbool.h>
#include <stdint.h>

struct poller;

struct poller_options {
	struct loop *loop;
	const char *directory; /* borrowed */
	int64_t quiet_ms;
	bool all; /* what lies there at the first look counts as changed */
	look_fn *changed;
	void (*looked)(void *arg); /* after all that has changed was told */
	void *arg;
};

struct poller *poller_new(const struct poller_options *options);
/* Waits for a look that is under way. */
void poller_free(struct poller *poller);

/* True when a look that began at that time or later (monotonic) has been told. Otherwise one will be soon. */
bool poller_has_looked_since(struct poller *poller, int64_t since_ms);

/* Looks and tells, and blocks meanwhile. */
void poller_look_now(struct poller *poller);

#endif
