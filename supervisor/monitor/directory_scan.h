/* PURE. What a directory looked like at one time, and what is different at another. */
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
/* The path is taken over. */
void directory_scan_add(struct scan *scan, char *path, uint64_t size, uint64_t inode,
			int64_t mtime_ns);
/* By path: before it is compared. */
void directory_scan_sort(struct scan *scan);

typedef void directory_scan_fn(void *arg, const char *path);
/* Each file that is new, or has another size, time or number. What is gone is not told. */
void directory_scan_compare(const struct scan *before, const struct scan *now,
			    directory_scan_fn *changed, void *arg);

/* How long to wait between two looks, when one takes `took_ms`: half of the quiet time, so that a
 * seal has a fresh one, but no more than a twentieth of the time is spent on it. */
int64_t directory_scan_interval_ms(int64_t quiet_ms, int64_t took_ms);

#endif
