/* Which of the items of a tree are part of a snapshot, and which of them are one file; what an item
 * gives a restored file besides its content. */
#include "file_tree.h"

#include "base/cleanup.h"
#include "base/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

/* --- hard links --- */

/* The first name of a file, in order, carries its content; the others are hard links. */
static int compare_inodes(const void *a, const void *b)
{
	const struct file_tree_item *first = *(struct file_tree_item *const *)a;
	const struct file_tree_item *second = *(struct file_tree_item *const *)b;

	if (first->stamp.device != second->stamp.device)
		return first->stamp.device < second->stamp.device ? -1 : 1;
	if (first->stamp.inode != second->stamp.inode)
		return first->stamp.inode < second->stamp.inode ? -1 : 1;
	return strcmp(first->entry.path, second->entry.path);
}

void file_tree_find_hardlinks(struct file_tree *tree)
{
	auto_free struct file_tree_item **linked =
		memory_new(tree->count * sizeof(struct file_tree_item *));
	const struct file_tree_item *file = NULL;
	size_t count = 0;

	for (size_t i = 0; i < tree->count; i++)
		if (tree->items[i].entry.type == ENTRY_FILE && tree->items[i].links > 1)
			linked[count++] = &tree->items[i];
	if (count)
		qsort(linked, count, sizeof(struct file_tree_item *), compare_inodes);
	for (size_t i = 0; i < count; i++) {
		struct file_tree_item *item = linked[i];

		if (!file || file->stamp.device != item->stamp.device ||
		    file->stamp.inode != item->stamp.inode) {
			file = item;
			continue;
		}
		item->entry.type = ENTRY_HARDLINK;
		item->entry.target = text_copy(file->entry.path);
		item->entry.size = 0;
		if (item->fd >= 0)
			close(item->fd);
		item->fd = -1;
	}
}

/* --- items that are dropped --- */

static int compare_path(const void *path, const void *item)
{
	return strcmp(path, ((const struct file_tree_item *)item)->entry.path);
}

static const struct file_tree_item *find_item(const struct file_tree *tree, const char *path)
{
	return tree->count
		       ? bsearch(path, tree->items, tree->count, sizeof(*tree->items), compare_path)
		       : NULL;
}

/* The items are in the order of their paths, so a parent's own verdict is there already. */
static bool parent_is_dropped(const struct file_tree *tree, const char *path)
{
	const char *slash = strrchr(path, '/');
	auto_free char *parent = slash ? text_copy_n(path, (size_t)(slash - path)) : NULL;
	const struct file_tree_item *item = parent ? find_item(tree, parent) : NULL;

	return item && item->dropped;
}

static bool target_is_dropped(const struct file_tree *tree, const struct entry *entry)
{
	const struct file_tree_item *file =
		entry->type == ENTRY_HARDLINK ? find_item(tree, entry->target) : NULL;

	return file && (file->dropped || file->lost);
}

static bool is_bare(const struct file_tree *tree, size_t directory)
{
	const char *path = tree->items[directory].entry.path;
	size_t length = strlen(path);

	for (size_t i = directory + 1; i < tree->count; i++) {
		const struct file_tree_item *item = &tree->items[i];

		if (!item->dropped && item->entry.type != ENTRY_DIRECTORY &&
		    text_starts(item->entry.path, path) && item->entry.path[length] == '/')
			return false;
	}
	return true;
}

void file_tree_drop_bare_directories(struct file_tree *tree,
				     bool (*drops)(void *arg, const char *path), void *arg)
{
	for (size_t i = 0; i < tree->count; i++)
		if (tree->items[i].entry.type == ENTRY_DIRECTORY &&
		    drops(arg, tree->items[i].entry.path) && is_bare(tree, i))
			tree->items[i].dropped = true;
}

void file_tree_remove_dropped(struct file_tree *tree)
{
	size_t kept = 0;

	for (size_t i = 0; i < tree->count; i++) {
		struct file_tree_item *item = &tree->items[i];

		if (parent_is_dropped(tree, item->entry.path) ||
		    target_is_dropped(tree, &item->entry))
			item->dropped = true;
	}
	for (size_t i = 0; i < tree->count; i++) {
		struct file_tree_item *item = &tree->items[i];

		if (!item->dropped && !item->lost) {
			tree->items[kept++] = *item;
			continue;
		}
		tree->lost += item->lost && !item->dropped;
		if (item->fd >= 0)
			close(item->fd);
		entry_release(&item->entry);
	}
	tree->count = kept;
}

/* --- metadata of restored files --- */

int file_tree_apply_metadata(int fd, const struct entry *entry, struct err *err)
{
	struct timespec times[2] = {
		{.tv_nsec = UTIME_OMIT},
		{.tv_sec = entry->mtime_s, .tv_nsec = entry->mtime_ns},
	};
	/* Whoever can write to the store must not be able to create set-user-id files of ours. */
	uint32_t mode = entry->type == ENTRY_DIRECTORY ? entry->mode : entry->mode & 01777;

	for (size_t i = 0; i < entry->xattr_count; i++)
		if (fsetxattr(fd, entry->xattrs[i].name, entry->xattrs[i].value.data,
			      entry->xattrs[i].value.size, 0) < 0 &&
		    errno == ENOSPC)
			return err_os(err, errno, "%s: attribute %s", entry->path,
				      entry->xattrs[i].name);
	if (fchmod(fd, mode) < 0 || futimens(fd, times) < 0)
		return err_os(err, errno, "%s", entry->path);
	return 0;
}
