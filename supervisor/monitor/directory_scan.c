#include "directory_scan.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define INTERVAL_LEAST_MS 100
#define INTERVAL_MOST_MS 5000
#define INTERVAL_SHARE 20

void directory_scan_release(struct scan *scan)
{
	for (size_t i = 0; i < scan->count; i++)
		free(scan->items[i].path);
	free(scan->items);
	*scan = (struct scan){0};
}

void directory_scan_add(struct scan *scan, char *path, uint64_t size, uint64_t inode,
			int64_t mtime_ns)
{
	/* Grown when a power of two is reached. */
	if ((scan->count & (scan->count - 1)) == 0)
		scan->items = memory_grow(scan->items, scan->count ? 2 * scan->count : 1,
					  sizeof(scan->items[0]));
	scan->items[scan->count++] = (struct scanned_file){
		.path = path,
		.size = size,
		.inode = inode,
		.mtime_ns = mtime_ns,
	};
}

static int by_path(const void *a, const void *b)
{
	const struct scanned_file *left = a, *right = b;

	return strcmp(left->path, right->path);
}

void directory_scan_sort(struct scan *scan)
{
	if (scan->count > 0)
		qsort(scan->items, scan->count, sizeof(scan->items[0]), by_path);
}

void directory_scan_compare(const struct scan *before, const struct scan *now,
			    directory_scan_fn *changed, void *arg)
{
	size_t old = 0;

	for (size_t i = 0; i < now->count; i++) {
		const struct scanned_file *file = &now->items[i];
		const struct scanned_file *same = NULL;

		while (old < before->count && strcmp(before->items[old].path, file->path) < 0)
			old++;
		if (old < before->count && text_equal(before->items[old].path, file->path))
			same = &before->items[old];
		if (!same || same->size != file->size || same->inode != file->inode ||
		    same->mtime_ns != file->mtime_ns)
			changed(arg, file->path);
	}
}

int64_t directory_scan_interval_ms(int64_t quiet_ms, int64_t took_ms)
{
	int64_t interval = quiet_ms / 2;

	if (interval > INTERVAL_MOST_MS)
		interval = INTERVAL_MOST_MS;
	if (interval < INTERVAL_LEAST_MS)
		interval = INTERVAL_LEAST_MS;
	return took_ms * INTERVAL_SHARE > interval ? took_ms * INTERVAL_SHARE : interval;
}
