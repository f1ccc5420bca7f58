#include "directory_poller.h"

#include "base/text.h"

#include <string.h>

#define INTERVAL_LEAST_MS 100
#define INTERVAL_MOST_MS 5000
#define INTERVAL_SHARE 20

void directory_scan_compare(const struct snapshot_files *before, const struct snapshot_files *now,
			    directory_scan_fn *changed, void *arg)
{
	size_t old = 0;

	for (size_t i = 0; i < now->count; i++) {
		const struct snapshot_file *file = &now->items[i];
		const struct snapshot_file *same = NULL;

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
