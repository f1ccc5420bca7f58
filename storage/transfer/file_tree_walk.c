#include "file_tree_walk.h"

#include "base/beneath.h"
#include "base/cleanup.h"
#include "storage/format/format.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct walk {
	struct file_tree *tree;
	const struct file_tree_choice *choice;
	struct cancel *cancel;
};

/* Deeper than a path can be. */
#define DEPTH_MAX (PATH_MAX / 2)

AUTO_POINTER(DIR, closedir);

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
	/* A dangling link cannot be resolved: its text decides whether it stays inside. A relative
	 * one would have to be valid as it stands. */
	if (!realpath(full, resolved))
		text_set(resolved, sizeof(resolved), target);
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

static void set_status(struct entry *entry, const struct stat *status)
{
	entry->mode = status->st_mode & 07777;
	entry->mtime_s = status->st_mtim.tv_sec;
	entry->mtime_ns = (uint32_t)status->st_mtim.tv_nsec;
}

/* An entry that is no longer what it was when it was listed. */
static bool is_vanished(int reason)
{
	return reason == ENOENT || reason == ENOTDIR || reason == ELOOP || reason == ESTALE;
}

static int entry_error(const struct walk *walk, const char *path, int reason, struct err *err)
{
	return err_os(err, reason, "%s/%s", walk->tree->root, path);
}

static int add_symlink(struct walk *walk, int parent, const char *name, const char *path,
		       const struct stat *status, struct err *err)
{
	char target[PATH_MAX];
	ssize_t length = readlinkat(parent, name, target, sizeof(target) - 1);
	struct file_tree_item *item;
	char *portable;

	if (length < 0) /* EINVAL: something else has taken its place */
		return is_vanished(errno) || errno == EINVAL ? 0
							     : entry_error(walk, path, errno, err);
	target[length] = '\0';
	portable = portable_target(walk, path, target);
	if (!portable) {
		skip_entry(walk->tree, path, "a symbolic link that leads out of it");
		return 0;
	}
	item = add_item(walk->tree, path, ENTRY_SYMLINK);
	set_status(&item->entry, status);
	item->entry.target = portable;
	item->entry.mode = 0777;
	return 0;
}

static int walk_directory(struct walk *walk, int fd, const char *path, int depth, struct err *err);

static int enter_directory(struct walk *walk, int parent, const char *name, const char *path,
			   int depth, struct err *err)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return is_vanished(errno) ? 0 : entry_error(walk, path, errno, err);
	return walk_directory(walk, fd, path, depth + 1, err);
}

static int add_entry(struct walk *walk, int parent, const char *name, const char *path, int depth,
		     struct err *err)
{
	struct stat status;

	if (fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return is_vanished(errno) ? 0 : entry_error(walk, path, errno, err);
	if (walk->choice && walk->choice->exclude && walk->choice->exclude(walk->choice->arg, path))
		return 0;
	switch (status.st_mode & S_IFMT) {
	case S_IFREG:
		add_item(walk->tree, path, ENTRY_FILE);
		return 0;
	case S_IFLNK:
		return add_symlink(walk, parent, name, path, &status, err);
	case S_IFDIR:
		set_status(&add_item(walk->tree, path, ENTRY_DIRECTORY)->entry, &status);
		return enter_directory(walk, parent, name, path, depth, err);
	case S_IFIFO:
		skip_entry(walk->tree, path, "a FIFO");
		return 0;
	case S_IFSOCK:
		skip_entry(walk->tree, path, "a socket");
		return 0;
	default:
		skip_entry(walk->tree, path, "a device");
		return 0;
	}
}

/* Takes over fd. */
static int walk_directory(struct walk *walk, int fd, const char *path, int depth, struct err *err)
{
	auto_(closedir) DIR *directory = fdopendir(fd);
	const struct dirent *found;

	if (!directory) {
		int reason = errno;

		close(fd);
		return entry_error(walk, path, reason, err);
	}
	if (depth > DEPTH_MAX)
		return entry_error(walk, path, ENAMETOOLONG, err);
	while (errno = 0, (found = readdir(directory))) {
		const char *name = found->d_name;
		auto_free char *inner = NULL;

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
			continue;
		if (cancel_check(walk->cancel, err) < 0)
			return -1;
		inner = path[0] ? text_format("%s/%s", path, name) : text_copy(name);
		if (add_entry(walk, fd, name, inner, depth, err) < 0)
			return -1;
	}
	return errno == 0 || is_vanished(errno) ? 0 : entry_error(walk, path, errno, err);
}

static int compare_items(const void *a, const void *b)
{
	const struct file_tree_item *first = a, *second = b;

	return strcmp(first->entry.path, second->entry.path);
}

int file_tree_walk(struct file_tree *tree, const struct file_tree_choice *choice,
		   struct cancel *cancel, struct err *err)
{
	struct walk walk = {tree, choice, cancel};
	int fd = beneath_open_directory(tree->root_fd, "");
	struct stat status;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return err_set(err, ERR_RETRY, "%s changed while it was being listed", tree->root);
	if (fd < 0)
		return err_os(err, errno, "%s", tree->root);
	if (fstat(fd, &status) == 0)
		tree->root_mode = status.st_mode & 07777;
	if (walk_directory(&walk, fd, "", 0, err) < 0)
		return -1;
	if (tree->count)
		qsort(tree->items, tree->count, sizeof(*tree->items), compare_items);
	return 0;
}
