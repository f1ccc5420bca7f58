/* PURE. The difference between two scans, which are sorted lists of files. */
#ifndef DIRECTORY_SCAN_H
#define DIRECTORY_SCAN_H

#include "storage/storage.h"

#include <stdint.h>

typedef void directory_scan_fn(void *arg, const char *path);
/* Calls `changed` for each file that is new or has another size, time or inode number. Files that
 * are gone are not reported. */
void directory_scan_compare(const struct snapshot_files *before, const struct snapshot_files *now,
			    directory_scan_fn *changed, void *arg);

/* Time between two scans if a scan takes `took_ms`: half of the quiet time, so that a verdict has a
 * recent scan, but long enough that at most a twentieth of the time is spent scanning. */
int64_t directory_scan_interval_ms(int64_t quiet_ms, int64_t took_ms);

#endif
