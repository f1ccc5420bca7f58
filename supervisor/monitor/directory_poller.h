/*
 * Looks at the checkpoint directory again and again, where the kernel's events do not tell all:
 * network file systems, and directories that could not be watched. Reads names, sizes, times and
 * numbers on a thread of its own, past the caches of NFS and FUSE; a server that hangs holds up
 * nothing but that thread.
 */
#ifndef DIRECTORY_POLLER_H
#define DIRECTORY_POLLER_H

#include "base/loop.h"
#include "directory_scan.h"

#include <stdbool.h>
#include <stdint.h>

struct directory_poller;

struct directory_poller_options {
	struct loop *loop;
	const char *directory; /* borrowed */
	int64_t quiet_ms;
	bool all; /* what lies there at the first look counts as changed */
	directory_scan_fn *changed;
	void (*on_scanned)(void *arg); /* after all that has changed was told */
	void *arg;
};

struct directory_poller *directory_poller_new(const struct directory_poller_options *options);
/* Waits for a look that is under way. */
void directory_poller_free(struct directory_poller *poller);

/* True when a look that began at that time or later (monotonic) has been told.
 * Otherwise one will be soon. */
bool directory_poller_has_scanned_since(struct directory_poller *poller, int64_t since_ms);

/* Looks and tells, and blocks meanwhile. */
void directory_poller_scan_now(struct directory_poller *poller);

#endif
