/* PURE. What a directory looked like at one time, and what is different at another. */
#ifndef DIRECTORY_SCAN_H
#define DIRECTORY_SCAN_H

#include <stddef.h>
#include <stdint.h>

struct look_file {
	char *path; /* relative */
	uint64_t size, inode;
	int64_t mtime_ns;
};

struct look {
	struct look_file *items;
	size_t count;
};

void look_release(struct look *look);
/* The path is taken over. */
void look_add(struct look *look, char *path, uint64_t size, uint64_t inode, int64_t mtime_ns);
/* By path: before it is compared. */
void look_sort(struct look *look);

typedef void look_fn(void *arg, const char *path);
/* Each file that is new, or has another size, time or number. What is gone is not told. */
void look_compare(const struct look *before, const struct look *now, look_fn *changed, void *arg);

/* How long to wait between two looks, when one takes `took_ms`: half of the quiet time, so that a seal has a fresh one, but no more than
 * a twentieth of the time is spent on it. */
int64_t look_interval_ms(int64_t quiet_ms, int64_t took_ms);

#endif
