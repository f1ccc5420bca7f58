/* The files of the index: what each was made of when it was read last. */
#include "chunk_index_files.h"

#include "base/cleanup.h"

#include <stdlib.h>
#include <string.h>

bool file_stamp_same_content(const struct file_stamp *a, const struct file_stamp *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size &&
	       a->mtime.tv_sec == b->mtime.tv_sec && a->mtime.tv_nsec == b->mtime.tv_nsec;
}

bool file_stamp_equal(const struct file_stamp *a, const struct file_stamp *b)
{
	return file_stamp_same_content(a, b) && a->ctime.tv_sec == b->ctime.tv_sec &&
	       a->ctime.tv_nsec == b->ctime.tv_nsec;
}

void chunk_index_files_clear(struct chunk_index *index)
{
	for (size_t i = 0; i < index->file_count; i++) {
		free(index->files[i].path);
		free(index->files[i].chunks);
	}
	free(index->files);
	index->files = NULL;
	index->file_count = 0;
}

static int compare_files(const void *a, const void *b)
{
	const struct chunk_index_file *first = a, *second = b;

	return strcmp(first->path, second->path);
}

bool chunk_index_find_file(struct chunk_index *index, const char *path,
			   const struct file_stamp *stamp, struct chunk *chunks, size_t count)
{
	static const struct file_stamp none;
	struct chunk_index_file wanted = {.path = (char *)path};
	const struct chunk_index_file *file = NULL;
	bool there;

	if (index->file_count && !file_stamp_equal(stamp, &none))
		file = bsearch(&wanted, index->files, index->file_count, sizeof(wanted),
			       compare_files);
	if (!file || file->chunk_count != count || !file_stamp_equal(&file->stamp, stamp))
		return false;
	there = chunk_index_has_all(index, file->chunks, count);
	if (there && count)
		memcpy(chunks, file->chunks, count * sizeof(*chunks));
	return there;
}

static void add_file(struct chunk_index *index, const struct entry *entry,
		     const struct file_stamp *stamp)
{
	size_t count = chunk_count(entry->size);
	struct chunk_index_file *file = &index->files[index->file_count++];

	*file = (struct chunk_index_file){
		.path = text_copy(entry->path),
		.stamp = *stamp,
		.chunks = memory_new(count * sizeof(struct chunk)),
		.chunk_count = count,
	};
	if (count)
		memcpy(file->chunks, entry->chunks, count * sizeof(struct chunk));
}

static void forget_file(struct chunk_index *index, const char *path)
{
	struct chunk_index_file wanted = {.path = (char *)path};
	struct chunk_index_file *file = NULL;

	if (index->file_count)
		file = bsearch(&wanted, index->files, index->file_count, sizeof(wanted),
			       compare_files);
	/* The item stays, so that the order holds; without a stamp it is never found. */
	if (file)
		file->stamp = (struct file_stamp){0};
}

static void drop_unstamped_files(struct chunk_index *index)
{
	static const struct file_stamp none;
	size_t kept = 0;

	for (size_t i = 0; i < index->file_count; i++) {
		struct chunk_index_file *file = &index->files[i];

		if (!file_stamp_equal(&file->stamp, &none)) {
			index->files[kept++] = *file;
			continue;
		}
		free(file->path);
		free(file->chunks);
	}
	index->file_count = kept;
}

void chunk_index_add_files(struct chunk_index *index, const struct entry *const *entries,
			   const struct file_stamp *const *stamps, size_t count)
{
	for (size_t i = 0; i < count; i++)
		forget_file(index, entries[i]->path);
	drop_unstamped_files(index);
	index->files =
		memory_grow(index->files, index->file_count + count + 1, sizeof(*index->files));
	for (size_t i = 0; i < count; i++)
		if (entries[i]->type == ENTRY_FILE && entries[i]->chunks)
			add_file(index, entries[i], stamps[i]);
	if (index->file_count)
		qsort(index->files, index->file_count, sizeof(*index->files), compare_files);
}

void chunk_index_files_set(struct chunk_index *index, const struct manifest *manifest,
			   const struct file_stamp *stamps)
{
	index->files = memory_new(manifest->entry_count * sizeof(*index->files));
	for (size_t i = 0; i < manifest->entry_count; i++)
		if (manifest->entries[i].type == ENTRY_FILE)
			add_file(index, &manifest->entries[i], &stamps[i]);
}
