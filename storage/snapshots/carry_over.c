#include "carry_over.h"

#include "base/text.h"
#include "storage/records/records.h"

#include <stdlib.h>
#include <string.h>

static int compare_items(const void *a, const void *b)
{
	const struct file_tree_item *first = a, *second = b;

	return strcmp(first->entry.path, second->entry.path);
}

static bool tree_has(const struct file_tree *tree, size_t count, const char *path)
{
	struct file_tree_item wanted = {.entry.path = (char *)path};

	return count && bsearch(&wanted, tree->items, count, sizeof(wanted), compare_items);
}

/* The chunks as the index has them; false: one of them is not in the store. */
static bool find_chunks(struct storage *storage, struct entry *entry)
{
	size_t count = chunk_count(entry->size);

	for (size_t i = 0; i < count; i++) {
		struct chunk *chunk = &entry->chunks[i];

		if (chunk->codec != CHUNK_ZERO &&
		    !chunk_index_find(&storage->transfer.index, chunk->digest, chunk))
			return false;
	}
	return true;
}

/* Moves the entry into the tree. It has no stamp, so that the next save reads the file. */
static void add_item(struct file_tree *tree, struct entry *entry)
{
	tree->items = memory_grow(tree->items, tree->count + 1, sizeof(tree->items[0]));
	tree->items[tree->count++] =
		(struct file_tree_item){.entry = *entry, .fd = -1, .read = true, .unsettled = true};
	*entry = (struct entry){0};
}

/* `known`: so many items of the tree are sorted; those behind them were added here. */
static void add_directories(struct file_tree *tree, size_t known, struct manifest *parent,
			    const char *path)
{
	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		auto_free char *directory = text_format("%.*s", (int)(slash - path), path);

		if (tree_has(tree, known, directory))
			continue;
		for (size_t i = 0; i < parent->entry_count; i++)
			if (parent->entries[i].type == ENTRY_DIRECTORY &&
			    text_equal(parent->entries[i].path, directory))
				add_item(tree, &parent->entries[i]);
	}
}

/* What the hard link shares with the file that it is a link to, under its own name. The caller
 * releases it. */
static struct entry entry_of_link(const struct entry *link, const struct entry *file)
{
	size_t count = chunk_count(file->size);
	struct entry entry = *file;

	entry.path = text_copy(link->path);
	entry.target = NULL;
	entry.chunks = memory_new(count * sizeof(struct chunk));
	if (count)
		memcpy(entry.chunks, file->chunks, count * sizeof(struct chunk));
	entry.xattrs = memory_new(file->xattr_count * sizeof(*entry.xattrs));
	for (size_t i = 0; i < file->xattr_count; i++) {
		const struct bytes *value = &file->xattrs[i].value;

		entry.xattrs[i].name = text_copy(file->xattrs[i].name);
		bytes_append(&entry.xattrs[i].value, value->data, value->size, NULL);
	}
	return entry;
}

static const struct entry *find_file(const struct manifest *manifest, const char *path)
{
	for (size_t i = 0; i < manifest->entry_count; i++)
		if (manifest->entries[i].type == ENTRY_FILE &&
		    text_equal(manifest->entries[i].path, path))
			return &manifest->entries[i];
	return NULL;
}

/* Before its files are moved: a link needs the content of its file. What the link is to may be gone
 * or written over, so it becomes a file of its own, of the same chunks. */
static void carry_links(struct storage *storage, const struct save_request *request,
			struct file_tree *tree, size_t known, struct manifest *parent)
{
	for (size_t i = 0; i < parent->entry_count; i++) {
		const struct entry *link = &parent->entries[i], *file;
		struct entry entry;

		if (link->type != ENTRY_HARDLINK || !request->carried(request->arg, link->path) ||
		    tree_has(tree, known, link->path))
			continue;
		file = find_file(parent, link->target);
		if (!file)
			continue;
		entry = entry_of_link(link, file);
		if (find_chunks(storage, &entry)) {
			add_directories(tree, known, parent, entry.path);
			add_item(tree, &entry);
		}
		entry_release(&entry);
	}
}

int carry_over(struct storage *storage, const struct save_request *request, struct file_tree *tree,
	       struct cancel *cancel, struct err *err)
{
	auto_(manifest_release) struct manifest parent = {0};
	size_t known = tree->count;

	if (!request->carried || snapshot_id_is_none(request->parent) ||
	    (request->carries && !request->carries(request->arg)))
		return 0;
	if (job_record_get_manifest(storage, request->parent, &parent, cancel, err) < 0)
		return -1;
	carry_links(storage, request, tree, known, &parent);
	for (size_t i = 0; i < parent.entry_count; i++) {
		struct entry *entry = &parent.entries[i];

		if ((entry->type != ENTRY_FILE && entry->type != ENTRY_SYMLINK) ||
		    !request->carried(request->arg, entry->path) ||
		    tree_has(tree, known, entry->path) || !find_chunks(storage, entry))
			continue;
		add_directories(tree, known, &parent, entry->path);
		add_item(tree, entry);
	}
	if (tree->count > known)
		qsort(tree->items, tree->count, sizeof(tree->items[0]), compare_items);
	return 0;
}
