#include "append_progress.h"

/* Its place, or GROWTH_FILES. */
static size_t find(const struct growth *growth, const struct file_stamp *stamp)
{
	size_t i = 0;

	while (i < GROWTH_FILES &&
		(growth->files[i].chunks == 0 || growth->files[i].device != stamp->device ||
			growth->files[i].inode != stamp->inode))
		i++;
	return i;
}

size_t growth_end(const struct growth *growth, const struct file_stamp *stamp)
{
	size_t at = find(growth, stamp);

	return at < GROWTH_FILES ? growth->files[at].chunks : 0;
}

bool growth_due(
	const struct growth *growth, const struct file_stamp *stamp, size_t *first, size_t *end)
{
	*first = growth_end(growth, stamp);
	*end = (size_t)(stamp->size / CHUNK_SIZE);
	/* Begun anew, or another file with its number. */
	if (*end < *first)
		*first = 0;
	return *end - *first >= GROWTH_STEP;
}

void growth_note(struct growth *growth, const struct file_stamp *stamp, size_t end)
{
	size_t at = find(growth, stamp);

	if (at == GROWTH_FILES && end == 0)
		return;
	if (at == GROWTH_FILES)
		at = growth->next++ % GROWTH_FILES;
	growth->files[at] = (struct growth_file){stamp->device, stamp->inode, end};
}
