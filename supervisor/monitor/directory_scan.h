/* PURE. The list of files that a scan has found, and the difference between two scans. */
#ifndef DIRECTORY_SCAN_H
#define DIRECTORY_SCAN_H

#include <stddef.h>
#include <stdint.h>

struct scanned_file {
	char *path; /* relative */
	uint64_t size, inode;
	int64_t mtime_ns;
};

struct scan {
	struct scanned_file *items;
	size_t count;
};

void directory_scan_release(struct scan *scan);
/* Takes ownership of `path`. */
void directory_scan_add(struct scan *scan, char *path, uint64_t size, uint64_t inode,
			int64_t mtime_ns);
/* Sorts by path; do it before directory_scan_compare(). */
void directory_scan_sort(struct scan *scan);

typedef void directory_scan_fn(void *arg, const char *path);
/* Calls `changed` for each file that is new or has another size, time or inode number. Files that
 * are gone are not reported. */
void directory_scan_compare(const struct scan *before, const struct scan *now,
			    directory_scan_fn *changed, void *arg);

/* Time between two scans if a scan takes `took_ms`: half of the quiet time, so that a verdict has a
 * recent scan, but long enough that at most a twentieth of the time is spent scanning. */
int64_t directory_scan_interval_ms(int64_t quiet_ms, int64_t took_ms);

#endif
