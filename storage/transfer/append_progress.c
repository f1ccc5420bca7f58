#include "append_progress.h"

/* The file's place in the ring, or APPEND_PROGRESS_FILES. */
static size_t find_file_slot(const struct append_progress *append_progress,
			     const struct file_stamp *stamp)
{
	size_t i = 0;

	while (i < APPEND_PROGRESS_FILES && (append_progress->files[i].chunks == 0 ||
					     append_progress->files[i].device != stamp->device ||
					     append_progress->files[i].inode != stamp->inode))
		i++;
	return i;
}

size_t append_progress_sent(const struct append_progress *append_progress,
			    const struct file_stamp *stamp)
{
	size_t at = find_file_slot(append_progress, stamp);

	return at < APPEND_PROGRESS_FILES ? append_progress->files[at].chunks : 0;
}

bool append_progress_next(const struct append_progress *append_progress,
			  const struct file_stamp *stamp, size_t *first, size_t *end)
{
	*first = append_progress_sent(append_progress, stamp);
	*end = (size_t)(stamp->size / CHUNK_SIZE);
	/* The file was truncated, or another file has its inode number. */
	if (*end < *first)
		*first = 0;
	return *end > *first;
}

bool append_progress_is_due(size_t chunks)
{
	return chunks >= APPEND_PROGRESS_STEP;
}

void append_progress_set(struct append_progress *append_progress, const struct file_stamp *stamp,
			 size_t end)
{
	size_t at = find_file_slot(append_progress, stamp);

	if (at == APPEND_PROGRESS_FILES && end == 0)
		return;
	if (at == APPEND_PROGRESS_FILES)
		at = append_progress->next++ % APPEND_PROGRESS_FILES;
	append_progress->files[at] = (struct append_progress_file){
		.device = stamp->device,
		.inode = stamp->inode,
		.chunks = end,
		.settled = append_progress_sent(append_progress, stamp),
	};
	if (append_progress->files[at].settled > end)
		append_progress->files[at].settled = 0;
}

size_t append_progress_settled(const struct append_progress *append_progress,
			       const struct file_stamp *stamp)
{
	size_t at = find_file_slot(append_progress, stamp);

	if (at == APPEND_PROGRESS_FILES)
		return 0;
	return append_progress->calm < APPEND_PROGRESS_CALM ? append_progress->files[at].settled
							    : append_progress->files[at].chunks;
}

void append_progress_note(struct append_progress *append_progress, bool same)
{
	append_progress->calm = same ? append_progress->calm + 1 : 0;
}
