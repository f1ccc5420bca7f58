#include "reading.h"

#include "base/beneath.h"
#include "base/file.h"
#include "base/held_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

/* Which of the items of a tree are part of a snapshot, and which of them are one file; what an item
 * gives a restored file besides its content. */

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

/* The walk through a directory, which holds each directory open that it is
 * in. */

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

/* Two writes within one tick of the clock that gives file times look like one. Another machine's
 * clock may tick every 10 ms and be a few off. */
#define FOREIGN_TICK_MS 20
/* what a round waits for the next tick, and how many there are */
#define SETTLE_MS 4
#define SETTLE_ROUNDS_MOST 25
#define XATTR_MOST 65536

void file_tree_release(struct file_tree *tree)
{
	for (size_t i = 0; i < tree->count; i++) {
		if (tree->items[i].fd >= 0)
			close(tree->items[i].fd);
		entry_release(&tree->items[i].entry);
	}
	if (tree->root && tree->root_fd >= 0)
		close(tree->root_fd);
	free(tree->items);
	free(tree->root);
	free(tree->left_out_path);
	*tree = (struct file_tree){.root_fd = -1};
}

/* --- stamps --- */

static struct file_stamp stamp_of(const struct stat *status)
{
	return (struct file_stamp){
		.device = status->st_dev,
		.inode = status->st_ino,
		.size = (uint64_t)status->st_size,
		.mtime = status->st_mtim,
		.ctime = status->st_ctim,
	};
}

/* Do the file's times come from CLOCK_REALTIME_COARSE of this machine, in nanoseconds? */
static bool is_of_our_clock(int fd)
{
	static const uint32_t known[] = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC,  BTRFS_SUPER_MAGIC,
					 TMPFS_MAGIC,      F2FS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC};
	struct statfs system;

	if (fstatfs(fd, &system) < 0)
		return false;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if ((uint32_t)system.f_type == known[i])
			return true;
	return false;
}

/* Whether a write from now on may leave the stamp as it is. `fd`: the file or its directory. */
static bool stamp_is_fresh(const struct file_stamp *stamp, int fd)
{
	struct timespec now;
	int64_t age_ns;

	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	age_ns = (int64_t)(now.tv_sec - stamp->ctime.tv_sec) * 1000000000 +
		 (now.tv_nsec - stamp->ctime.tv_nsec);
	/* A time in the future comes from another machine's clock; waiting would not help. */
	if (age_ns >= FOREIGN_TICK_MS * INT64_C(1000000) ||
	    age_ns <= -FOREIGN_TICK_MS * INT64_C(1000000))
		return false;
	return age_ns <= 0 || !is_of_our_clock(fd);
}

int file_tree_stamp(int fd, bool settled, struct file_stamp *stamp, struct cancel *cancel,
		    struct err *err)
{
	struct stat status;

	for (int i = 0; i < SETTLE_ROUNDS_MOST; i++) {
		if (fstat(fd, &status) < 0)
			return err_os(err, errno, "fstat");
		*stamp = stamp_of(&status);
		if (!settled || !stamp_is_fresh(stamp, fd))
			return 0;
		if (cancel_sleep(cancel, SETTLE_MS, err) < 0)
			return -1;
	}
	return err_set(err, ERR_RETRY, "it keeps being written");
}

/*
 * The kernel grants a read lease only on a file that nobody has open for writing. The lease is
 * released at once. A process that opens the file in between waits for these microseconds, and the
 * signal that the kernel sends us for it is ignored.
 */
bool file_tree_has_writers(int fd)
{
	bool writers;

	fcntl(fd, F_SETSIG, SIGURG);
	writers = fcntl(fd, F_SETLEASE, F_RDLCK) < 0 && errno == EAGAIN;
	if (!writers)
		fcntl(fd, F_SETLEASE, F_UNLCK);
	return writers;
}

/* Do the times change with each write? Some file systems keep whole seconds, and a time in the
 * future is of another machine's clock. */
static bool times_tell(const struct file_stamp *stamp)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (stamp->ctime.tv_nsec != 0 || stamp->mtime.tv_nsec != 0) &&
	       stamp->ctime.tv_sec <= now.tv_sec;
}

void file_tree_mark(struct file_tree_item *item, uint64_t boot)
{
	bool known = !item->unsettled && times_tell(&item->stamp);

	item->entry.stamp = known ? file_stamp_mark(&item->stamp, boot) : 0;
}

void file_tree_await_writes(int fd)
{
	(void)lseek(fd, 0, SEEK_DATA);
}

/* --- opening --- */

static int open_unseen(int root_fd, const char *path)
{
	int flags = O_RDONLY | O_NONBLOCK;
	int fd = beneath_open(root_fd, path, flags | O_NOATIME, 0);

	/* Only the owner of a file may open it with O_NOATIME. */
	return fd < 0 && errno == EPERM ? beneath_open(root_fd, path, flags, 0) : fd;
}

static int open_error(const char *path, struct err *err)
{
	if (errno == ENOENT || errno == ELOOP || errno == ENOTDIR || errno == ENXIO)
		return err_set(err, ERR_RETRY, "%s was deleted while it was being opened", path);
	return err_os(err, errno, "%s", path);
}

static void read_xattr(struct entry *entry, int fd, const char *name)
{
	struct entry_xattr *xattr;
	char value[XATTR_MOST];
	ssize_t size;

	if (!text_starts(name, "user."))
		return;
	size = fgetxattr(fd, name, value, sizeof(value));
	if (size < 0)
		return;
	entry->xattrs = memory_grow(entry->xattrs, entry->xattr_count + 1, sizeof(*entry->xattrs));
	xattr = &entry->xattrs[entry->xattr_count++];
	*xattr = (struct entry_xattr){.name = text_copy(name)};
	bytes_append(&xattr->value, value, (size_t)size, NULL);
}

static void read_xattrs(struct entry *entry, int fd)
{
	char names[XATTR_MOST];
	ssize_t size = flistxattr(fd, names, sizeof(names));

	for (ssize_t at = 0; at < size; at += (ssize_t)strlen(names + at) + 1)
		read_xattr(entry, fd, names + at);
}

static int read_status(struct file_tree_item *item, int fd, struct err *err)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return err_os(err, errno, "%s", item->entry.path);
	if (!S_ISREG(status.st_mode))
		return err_set(err, ERR_RETRY, "%s is no longer a file", item->entry.path);
	item->stamp = stamp_of(&status);
	item->links = (uint32_t)status.st_nlink;
	item->entry.mode = status.st_mode & 07777;
	item->entry.size = (uint64_t)status.st_size;
	item->entry.mtime_s = status.st_mtim.tv_sec;
	item->entry.mtime_ns = (uint32_t)status.st_mtim.tv_nsec;
	return 0;
}

static int open_item(const struct file_tree *tree, struct file_tree_item *item, struct err *err)
{
	auto_close int fd = open_unseen(tree->root_fd, item->entry.path);

	if (fd < 0)
		return open_error(item->entry.path, err);
	if (read_status(item, fd, err) < 0)
		return -1;
	read_xattrs(&item->entry, fd);
	item->fd = steal_fd(&fd);
	return 0;
}

int file_tree_open_file(const struct file_tree *tree, struct file_tree_item *item, struct err *err)
{
	/* Of a running file it goes with the prefix that is read, however it has grown since. */
	const struct file_stamp *before = &item->stamp;
	struct file_stamp now;
	struct stat status;
	bool same;

	item->fd = item->source ? beneath_open(tree->source_directory, item->source, O_RDONLY, 0)
				: open_unseen(tree->root_fd, item->entry.path);
	if (item->fd < 0)
		return open_error(item->entry.path, err);
	if (fstat(item->fd, &status) < 0)
		return err_os(err, errno, "%s", item->entry.path);
	now = stamp_of(&status);
	if (item->entry.running)
		same = before->device == now.device && before->inode == now.inode;
	else
		same = file_stamp_equal(before, &now);
	if (!same)
		return err_set(err, ERR_RETRY, "%s changed before it could be opened",
			       item->entry.path);
	return 0;
}

/* --- opening all files --- */

static bool is_running(const struct file_tree_item *item, const struct file_tree_choice *choice)
{
	return choice->running && choice->running(choice->arg, item->entry.path);
}

/* Opens and stamps all files. When the descriptors run out, the remaining files are stamped and
 * closed again; file_tree_open_file() opens them when they are read. */
static int open_files(struct file_tree *tree, const struct file_tree_choice *choice,
		      struct cancel *cancel, struct err *err)
{
	bool keep = true;

	for (size_t i = 0; i < tree->count; i++) {
		struct file_tree_item *item = &tree->items[i];

		if (item->entry.type != ENTRY_FILE)
			continue;
		if (cancel_check(cancel, err) < 0)
			return -1;
		item->entry.running = is_running(item, choice);
		if (open_item(tree, item, err) < 0) {
			item->lost = item->entry.running && err->kind == ERR_RETRY;
			if (item->lost)
				continue;
			if (!keep || (err->os != EMFILE && err->os != ENFILE))
				return -1;
			keep = false;
			/* Closes some, because this process must open packs, directories and
			 * sockets meanwhile. */
			for (size_t j = i, freed = 0; j > 0 && freed < 64; j--) {
				if (tree->items[j - 1].fd < 0)
					continue;
				close(tree->items[j - 1].fd);
				tree->items[j - 1].fd = -1;
				freed++;
			}
			i--;
			continue;
		}
		if (keep)
			continue;
		close(item->fd);
		item->fd = -1;
	}
	return 0;
}

static const struct file_tree_item *find_fresh_file(const struct file_tree *tree)
{
	for (size_t i = 0; i < tree->count; i++)
		if (tree->items[i].entry.type == ENTRY_FILE && !tree->items[i].entry.running &&
		    stamp_is_fresh(&tree->items[i].stamp, tree->root_fd))
			return &tree->items[i];
	return NULL;
}

/* Also one whose descriptor had no room. */
static int stamp_again(const struct file_tree *tree, struct file_tree_item *item, struct err *err)
{
	auto_close int opened = item->fd < 0 ? open_unseen(tree->root_fd, item->entry.path) : -1;
	uint64_t inode = item->stamp.inode;

	if (item->fd < 0 && opened < 0)
		return open_error(item->entry.path, err);
	if (read_status(item, item->fd < 0 ? opened : item->fd, err) < 0)
		return -1;
	if (item->stamp.inode == inode)
		return 0;
	return err_set(err, ERR_RETRY, "%s was replaced while it was being opened",
		       item->entry.path);
}

/* While a file was written in the current tick of the kernel's clock, waits for the next tick and
 * stats it again. */
static int wait_until_settled(struct file_tree *tree, struct cancel *cancel, struct err *err)
{
	const struct file_tree_item *fresh = find_fresh_file(tree);

	for (int looks = 1; fresh; looks++) {
		if (looks == SETTLE_ROUNDS_MOST)
			return err_set(err, ERR_RETRY, "%s keeps being written", fresh->entry.path);
		if (cancel_sleep(cancel, SETTLE_MS, err) < 0)
			return -1;
		for (size_t i = 0; i < tree->count; i++)
			if (tree->items[i].entry.type == ENTRY_FILE &&
			    !tree->items[i].entry.running &&
			    stamp_again(tree, &tree->items[i], err) < 0)
				return -1;
		fresh = find_fresh_file(tree);
	}
	return 0;
}

static void read_directory_xattrs(struct file_tree *tree)
{
	for (size_t i = 0; i < tree->count; i++) {
		struct entry *entry = &tree->items[i].entry;
		auto_close int fd = entry->type == ENTRY_DIRECTORY
					    ? open_unseen(tree->root_fd, entry->path)
					    : -1;

		if (fd >= 0)
			read_xattrs(entry, fd);
	}
}

int file_tree_open(const char *directory, const struct file_tree_choice *choice,
		   struct file_tree *tree, struct cancel *cancel, struct err *err)
{
	static const struct file_tree_choice everything;
	struct err own = {0};

	choice = choice ? choice : &everything;
	*tree = (struct file_tree){.root_fd = -1};
	tree->root = realpath(directory, NULL);
	if (!tree->root)
		return err_os(err, errno, "%s", directory);
	tree->root_fd = held_directory_open(directory, &own);
	if (tree->root_fd >= 0 && file_tree_walk(tree, choice, cancel, &own) == 0 &&
	    open_files(tree, choice, cancel, &own) == 0 &&
	    (choice->changing || wait_until_settled(tree, cancel, &own) == 0)) {
		file_tree_remove_dropped(tree);
		read_directory_xattrs(tree);
		return 0;
	}
	file_tree_release(tree);
	return err_pass(err, &own);
}

/* --- the freeze --- */

/* Its size now is the length of the prefix to read. */
static void freeze_running_file(const struct file_tree *tree, struct file_tree_item *item)
{
	struct file_stamp opened = item->stamp;
	bool closed = item->fd < 0;

	if (closed)
		item->fd = open_unseen(tree->root_fd, item->entry.path);
	item->lost = item->fd < 0 || read_status(item, item->fd, NULL) < 0 ||
		     item->stamp.device != opened.device || item->stamp.inode != opened.inode;
	item->unsettled =
		stamp_is_fresh(&item->stamp, tree->root_fd) || file_tree_has_writers(item->fd);
	if (closed && item->fd >= 0)
		close(steal_fd(&item->fd));
}

/* Mode, times and attributes remain those of the file itself. */
static void take_source(const struct file_tree *tree, struct file_tree_item *item)
{
	auto_close int fd = beneath_open(tree->source_directory, item->source, O_RDONLY, 0);
	struct stat status;

	item->lost = fd < 0 || fstat(fd, &status) < 0;
	if (item->lost)
		return;
	item->stamp = stamp_of(&status);
	item->entry.size = (uint64_t)status.st_size;
	item->unsettled = true;
	if (item->fd < 0)
		return;
	close(item->fd);
	item->fd = steal_fd(&fd);
}

void file_tree_freeze(struct file_tree *tree, const struct file_tree_choice *choice)
{
	for (size_t i = 0; i < tree->count; i++) {
		struct file_tree_item *item = &tree->items[i];
		const char *path = item->entry.path;

		item->dropped = choice->exclude && choice->exclude(choice->arg, path);
		if (item->dropped || item->entry.type != ENTRY_FILE)
			continue;
		item->source = choice->source ? choice->source(choice->arg, path) : NULL;
		item->entry.running =
			item->entry.running || item->source || is_running(item, choice);
		if (item->entry.running)
			freeze_running_file(tree, item);
		if (item->source && tree->source_directory <= 0)
			tree->source_directory = choice->source_directory(choice->arg);
		if (item->source)
			take_source(tree, item);
	}
	file_tree_remove_dropped(tree);
	file_tree_find_hardlinks(tree);
}
