/*
 * Scans the checkpoint directory repeatedly, for network file systems and for directories that
 * could not be watched. A thread reads names, sizes, times and inode numbers, past the caches of
 * NFS and FUSE. A server that hangs blocks only that thread.
 */
#ifndef DIRECTORY_POLLER_H
#define DIRECTORY_POLLER_H

#include "directory_monitor.h"

#include <stdbool.h>
#include <stdint.h>

struct directory_poller;

/* `all`: reports every file of the first scan as changed. */
struct directory_poller *directory_poller_new(const struct directory_monitor_options *options,
					      bool all);
/* Waits for a running scan. */
void directory_poller_free(struct directory_poller *poller);

/* True: a scan that began at `since_ms` (CLOCK_MONOTONIC) or later has been reported. Otherwise a
 * scan is started soon. */
bool directory_poller_has_scanned_since(struct directory_poller *poller, int64_t since_ms);

/* Scans and reports before it returns. Blocks. */
void directory_poller_scan_now(struct directory_poller *poller);

#endif
