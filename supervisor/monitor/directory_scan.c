#include "directory_scan.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_MS 100
#define MOST_MS 5000
#define SHARE 20

void look_release(struct look *look)
{
	for (size_t i = 0; i < look->count; i++)
		free(look->items[i].path);
	free(look->items);
	*look = (struct look){0};
}

void look_add(struct look *look, char *path, uint64_t size, uint64_t inode, int64_t mtime_ns)
{
	/* Grown when a power of two is reached. */
	if ((look->count & (look->count - 1)) == 0)
		look->items = memory_grow(
			look->items, look->count ? 2 * look->count : 1, sizeof(look->items[0]));
	look->items[look->count++] = (struct look_file){
		.path = path, .size = size, .inode = inode, .mtime_ns = mtime_ns};
}

static int by_path(const void *a, const void *b)
{
	const struct look_file *left = a, *right = b;

	return strcmp(left->path, right->path);
}

void look_sort(struct look *look)
{
	if (look->count > 0)
		qsort(look->items, look->count, sizeof(look->items[0]), by_path);
}

void look_compare(const struct look *before, const struct look *now, look_fn *changed, void *arg)
{
	size_t old = 0;

	for (size_t i = 0; i < now->count; i++) {
		const struct look_file *file = &now->items[i];
		const struct look_file *same = NULL;

		while (old < before->count && strcmp(before->items[old].path, file->path) < 0)
			old++;
		if (old < before->count && text_equal(before->items[old].path, file->path))
			same = &before->items[old];
		if (!same || same->size != file->size || same->inode != file->inode ||
			same->mtime_ns != file->mtime_ns)
			changed(arg, file->path);
	}
}

int64_t look_interval_ms(int64_t quiet_ms, int64_t took_ms)
{
	int64_t interval = quiet_ms / 2;

	if (interval > MOST_MS)
		interval = MOST_MS;
	if (interval < LEAST_MS)
		interval = LEAST_MS;
	return took_ms * SHARE > interval ? took_ms * SHARE : interval;
}
