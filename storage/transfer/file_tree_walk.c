#include "file_tree_walk.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "storage/format/format.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct walk {
	struct file_tree *tree;
	const struct file_tree_choice *choice;
	size_t root_length;
	char *entered; /* the directory entered last: the one that libarchive opens next */
};

AUTO_POINTER(struct archive, archive_read_free);
AUTO_POINTER(struct archive_entry, archive_entry_free);

static struct file_tree_item *add_item(struct file_tree *tree, const char *path,
				       enum entry_type type)
{
	struct file_tree_item *item;

	if ((tree->count & (tree->count - 1)) == 0)
		tree->items = memory_grow(tree->items, tree->count ? 2 * tree->count : 1,
					  sizeof(*tree->items));
	item = &tree->items[tree->count++];
	*item = (struct file_tree_item){.fd = -1};
	item->entry.path = text_copy(path);
	item->entry.type = type;
	return item;
}

/*
 * The target to store for a symbolic link, so that it works wherever the directory is restored: the
 * text itself if it is relative and only climbs at the start; otherwise the relative path to where
 * the link really leads. NULL: it leads out of the directory. The caller frees.
 */
static char *portable_target(const struct walk *walk, const char *path, const char *target)
{
	const char *root = walk->tree->root;
	auto_free char *parent = NULL;
	auto_free char *full = NULL;
	char resolved[PATH_MAX];
	const char *slash = strrchr(path, '/');
	size_t length = strlen(root);

	if (safe_path_target_is_valid(path, target))
		return text_copy(target);
	parent = text_copy_n(path, slash ? (size_t)(slash - path) : 0);
	full = target[0] == '/' ? text_copy(target) : text_format("%s/%s/%s", root, parent, target);
	/* A dangling link cannot be resolved: its text decides whether it stays inside. */
	if (!realpath(full, resolved)) {
		if (target[0] != '/' || strlen(target) >= sizeof(resolved))
			return NULL;
		text_set(resolved, sizeof(resolved), target);
	}
	if (strcmp(resolved, root) == 0)
		return safe_path_target_between(path, "");
	if (!text_starts(resolved, root) || resolved[length] != '/' ||
	    !safe_path_is_valid(resolved + length + 1))
		return NULL;
	return safe_path_target_between(path, resolved + length + 1);
}

static void skip_entry(struct file_tree *tree, const char *path, const char *what)
{
	tree->left_out++;
	if (tree->left_out_path && strcmp(tree->left_out_path, path) < 0)
		return;
	free(tree->left_out_path);
	tree->left_out_path = text_copy(path);
	tree->left_out_what = what;
}

static void add_symlink(struct walk *walk, const char *path, struct archive_entry *entry)
{
	const char *target = archive_entry_symlink(entry);
	char *portable = target ? portable_target(walk, path, target) : NULL;
	struct file_tree_item *item;

	if (!portable) {
		skip_entry(walk->tree, path, "a symbolic link that leads out of it");
		return;
	}
	item = add_item(walk->tree, path, ENTRY_SYMLINK);
	item->entry.target = portable;
	item->entry.mode = 0777;
	item->entry.mtime_s = archive_entry_mtime(entry);
	item->entry.mtime_ns = (uint32_t)archive_entry_mtime_nsec(entry);
}

static void add_directory(struct walk *walk, const char *path, struct archive_entry *entry)
{
	struct file_tree_item *item = add_item(walk->tree, path, ENTRY_DIRECTORY);

	item->entry.mode = archive_entry_perm(entry) & 07777;
	item->entry.mtime_s = archive_entry_mtime(entry);
	item->entry.mtime_ns = (uint32_t)archive_entry_mtime_nsec(entry);
}

static int add_entry(struct walk *walk, struct archive *disk, struct archive_entry *entry,
		     struct err *err)
{
	const char *full = archive_entry_pathname(entry);
	const char *path = full && strlen(full) > walk->root_length ? full + walk->root_length : "";

	if (path[0] == '/')
		path++;
	if (path[0] && walk->choice->exclude && walk->choice->exclude(walk->choice->arg, path))
		return 0;
	switch (archive_entry_filetype(entry)) {
	case AE_IFREG:
		add_item(walk->tree, path, ENTRY_FILE);
		return 0;
	case AE_IFLNK:
		add_symlink(walk, path, entry);
		return 0;
	case AE_IFDIR:
		if (path[0])
			add_directory(walk, path, entry);
		else
			walk->tree->root_mode = archive_entry_perm(entry) & 07777;
		free(walk->entered);
		walk->entered = text_copy(full);
		if (archive_read_disk_descend(disk) < ARCHIVE_WARN)
			return err_os(err, archive_errno(disk), "%s", full);
		return 0;
	case AE_IFIFO:
		skip_entry(walk->tree, path, "a FIFO");
		return 0;
	case AE_IFSOCK:
		skip_entry(walk->tree, path, "a socket");
		return 0;
	default:
		skip_entry(walk->tree, path, "a device");
		return 0;
	}
}

/*
 * libarchive does not say why it could not visit a directory, so that directory is looked at. True:
 * an entry below the root vanished under the walk, which goes on without it.
 */
static bool entry_vanished(const struct walk *walk, struct archive *disk, int got)
{
	struct stat status;

	if (got != ARCHIVE_FAILED || !walk->entered)
		return false;
	if (strcmp(walk->entered, walk->tree->root) == 0)
		return false;
	if (archive_errno(disk) == ENOENT || archive_errno(disk) == ENOTDIR)
		return true;
	/* A negative number is libarchive's own, for a reason that it did not keep. */
	return archive_errno(disk) < 0 &&
	       (lstat(walk->entered, &status) < 0 ? errno == ENOENT || errno == ENOTDIR
						  : !S_ISDIR(status.st_mode));
}

static int walk_error(struct archive *disk, const char *root, struct err *err)
{
	int reason = archive_errno(disk);

	if (reason == ENOENT || reason == ENOTDIR)
		return err_set(err, ERR_RETRY, "%s changed while it was being listed", root);
	return err_os(err, reason, "%s: %s", root, archive_error_string(disk));
}

static int compare_items(const void *a, const void *b)
{
	const struct file_tree_item *first = a, *second = b;

	return strcmp(first->entry.path, second->entry.path);
}

static int walk_entries(struct walk *walk, struct archive *disk, struct archive_entry *entry,
			struct cancel *cancel, struct err *err)
{
	for (;;) {
		int got = archive_read_next_header2(disk, entry);

		if (got == ARCHIVE_EOF)
			return 0;
		if (cancel_check(cancel, err) < 0)
			return -1;
		if (got < ARCHIVE_WARN && !entry_vanished(walk, disk, got))
			return walk_error(disk, walk->tree->root, err);
		if (got >= ARCHIVE_WARN && add_entry(walk, disk, entry, err) < 0)
			return -1;
		archive_entry_clear(entry);
	}
}

int file_tree_walk(struct file_tree *tree, const struct file_tree_choice *choice,
		   struct cancel *cancel, struct err *err)
{
	struct walk walk = {tree, choice, strlen(tree->root), NULL};
	int failed;
	auto_(archive_read_free) struct archive *disk = archive_read_disk_new();
	auto_(archive_entry_free) struct archive_entry *entry = archive_entry_new();

	if (!disk || !entry)
		return err_os(err, ENOMEM, "%s", tree->root);
	archive_read_disk_set_symlink_physical(disk);
	archive_read_disk_set_behavior(disk, ARCHIVE_READDISK_NO_ACL | ARCHIVE_READDISK_NO_FFLAGS |
						     ARCHIVE_READDISK_NO_XATTR |
						     ARCHIVE_READDISK_NO_SPARSE);
	if (archive_read_disk_open(disk, tree->root) != ARCHIVE_OK)
		return walk_error(disk, tree->root, err);
	failed = walk_entries(&walk, disk, entry, cancel, err);
	free(walk.entered);
	if (failed < 0)
		return -1;
	if (tree->count)
		qsort(tree->items, tree->count, sizeof(*tree->items), compare_items);
	return 0;
}
