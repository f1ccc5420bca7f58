#include "fetching.h"

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/held_directory.h"
#include "base/workers.h"
#include "reading.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void restore_tree_release(struct tree *tree)
{
	if (tree->content && tree->root_fd >= 0)
		close(tree->root_fd);
	free(tree->content);
	free(tree->selected);
	free(tree->linked);
	*tree = (struct tree){.root_fd = -1};
}

/* --- selecting --- */

static size_t entry_number(const struct tree *tree, const struct entry *entry)
{
	return (size_t)(entry - tree->manifest->entries);
}

static void select_parents(struct tree *tree, const char *path)
{
	auto_free char *above = text_copy(path);

	for (char *slash = strrchr(above, '/'); slash; slash = strrchr(above, '/')) {
		const struct entry *parent;

		*slash = '\0';
		parent = manifest_find(tree->manifest, above);
		if (parent)
			tree->selected[entry_number(tree, parent)] = true;
	}
}

static void select_entries(struct tree *tree, bool (*include)(void *arg, const char *path),
			   void *arg)
{
	const struct manifest *manifest = tree->manifest;

	for (size_t i = 0; i < manifest->entry_count; i++) {
		const struct entry *entry = &manifest->entries[i];

		if (include && !include(arg, entry->path))
			continue;
		tree->selected[i] = true;
		select_parents(tree, entry->path);
	}
	for (size_t i = 0; i < manifest->entry_count; i++) {
		const struct entry *entry = &manifest->entries[i], *file = entry;

		if (entry->type == ENTRY_HARDLINK)
			file = manifest_find(manifest, entry->target);
		if (!tree->selected[i] || !file || file->type != ENTRY_FILE)
			continue;
		if (file == entry || !tree->selected[entry_number(tree, file)])
			tree->content[i] = file;
	}
}

/* --- entries on several threads --- */

struct entry_work {
	struct tree *tree;
	struct cancel *cancel;
};

/* Calls `work`, whose `arg` is a struct entry_work, for each entry of the manifest. */
static int for_each_entry(struct tree *tree, unsigned threads,
			  int (*work)(void *arg, size_t i, struct err *err), struct cancel *cancel,
			  struct err *err)
{
	struct entry_work entries = {tree, cancel};

	return parallel_each(tree->manifest->entry_count, threads, work, &entries, err);
}

/* --- making files and directories --- */

/* Calls the system call itself: the C library emulates a missing one by writing the whole range. */
static int allocate_range(int fd, uint64_t offset, uint64_t size)
{
	int result;

	do
		result = fallocate(fd, 0, (off_t)offset, (off_t)size);
	while (result < 0 && errno == EINTR);
	/* If the file system cannot allocate, a full disk shows up when it is written to. */
	return result < 0 && (errno == ENOSPC || errno == EDQUOT) ? -1 : 0;
}

/* Allocates what is not a hole. */
static int allocate_content(int fd, const char *path, const struct entry *content, struct err *err)
{
	size_t count = chunk_count(content->size), end;
	char text[24];

	for (size_t first = 0; first < count; first = end + 1) {
		uint64_t size = 0;

		for (end = first; end < count && content->chunks[end].codec != CHUNK_ZERO; end++)
			size += chunk_length(content->size, end);
		if (size > 0 && allocate_range(fd, first * CHUNK_SIZE, size) < 0)
			return err_os(err, errno, "%s: cannot allocate %s", path,
				      text_bytes(content->size, text, sizeof(text)));
	}
	return 0;
}

static int make_file(void *arg, size_t i, struct err *err)
{
	const struct entry_work *entries = arg;
	struct tree *tree = entries->tree;
	const char *path = tree->manifest->entries[i].path;
	const struct entry *content = tree->content[i];
	auto_close int fd = -1;

	if (!content || tree->linked[i])
		return 0;
	if (cancel_check(entries->cancel, err) < 0)
		return -1;
	fd = beneath_open(tree->root_fd, path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)content->size) < 0)
		return err_os(err, errno, "%s", path);
	/* A small one while it is open: to open it once more would cost more. */
	return content->size > CHUNK_SIZE ? 0 : allocate_content(fd, path, content, err);
}

static int allocate_file(void *arg, size_t i, struct err *err)
{
	const struct entry_work *entries = arg;
	struct tree *tree = entries->tree;
	const char *path = tree->manifest->entries[i].path;
	const struct entry *content = tree->content[i];
	auto_close int fd = -1;

	if (!content || tree->linked[i] || content->size <= CHUNK_SIZE)
		return 0;
	if (cancel_check(entries->cancel, err) < 0)
		return -1;
	fd = restore_tree_open_file(tree, path, err);
	return fd < 0 ? -1 : allocate_content(fd, path, content, err);
}

/* `above`: keeps the directory of the entry before open. */
static int make_directories(const struct tree *tree, size_t i, struct beneath_parent *above,
			    struct err *err)
{
	const struct entry *entry = &tree->manifest->entries[i];
	const char *slash = strrchr(entry->path, '/'), *name;
	auto_free char *parent =
		text_copy_n(entry->path, slash ? (size_t)(slash - entry->path) : 0);
	int in;

	/* The parents that the manifest does not name itself. */
	if (slash && !manifest_find(tree->manifest, parent) &&
	    beneath_make_directories(tree->root_fd, parent, 0777, err) < 0)
		return -1;
	if (entry->type != ENTRY_DIRECTORY)
		return 0;
	in = beneath_parent_of(above, entry->path, &name);
	/* Accessible to us alone while it is filled; the real mode is set at the end. */
	if (in < 0 || (mkdirat(in, name, 0700) < 0 && errno != EEXIST))
		return err_os(err, errno, "%s", entry->path);
	return 0;
}

bool restore_tree_link(struct tree *tree, size_t i, int seed_fd)
{
	const char *path = tree->manifest->entries[i].path;

	tree->linked[i] = beneath_link(seed_fd, path, tree->root_fd, path) == 0;
	return tree->linked[i];
}

int restore_tree_make_files(struct tree *tree, unsigned threads, struct cancel *cancel,
			    struct err *err)
{
	return for_each_entry(tree, threads, make_file, cancel, err);
}

int restore_tree_allocate(struct tree *tree, struct cancel *cancel, struct err *err)
{
	return for_each_entry(tree, 1, allocate_file, cancel, err);
}

/* An empty directory, held open. */
static int open_root(int within, const char *directory, struct err *err)
{
	auto_close int root = -1;

	if (within > 0 && beneath_make_directories(within, directory, 0777, err) < 0)
		return -1;
	root = within > 0 ? beneath_open_directory(within, directory)
			  : held_directory_make(directory, 0777, err);
	if (root < 0)
		return within > 0 ? err_os(err, errno, "%s", directory) : -1;
	if (!beneath_is_empty_directory(root, ""))
		return err_set(err, ERR_EXISTS, "%s is not empty", directory);
	return steal_fd(&root);
}

int restore_tree_create(struct tree *tree, const struct manifest *manifest, int within,
			const char *directory, bool (*include)(void *arg, const char *path),
			void *arg, struct err *err)
{
	int root = open_root(within, directory, err);
	auto_(beneath_parent_close) struct beneath_parent above = BENEATH_PARENT(root);

	*tree = (struct tree){.manifest = manifest, .root_fd = root};
	if (root < 0)
		return -1;
	tree->content = memory_new(manifest->entry_count * sizeof(const struct entry *));
	tree->selected = memory_new(manifest->entry_count * sizeof(*tree->selected));
	tree->linked = memory_new(manifest->entry_count * sizeof(*tree->linked));
	select_entries(tree, include, arg);
	for (size_t i = 0; i < manifest->entry_count; i++) {
		if (!tree->selected[i] || make_directories(tree, i, &above, err) == 0)
			continue;
		restore_tree_release(tree);
		return -1;
	}
	return 0;
}

int restore_tree_open_file(const struct tree *tree, const char *path, struct err *err)
{
	int fd = beneath_open(tree->root_fd, path, O_WRONLY, 0);

	return fd < 0 ? err_os(err, errno, "%s", path) : fd;
}

/* --- finishing --- */

static int finish_file(void *arg, size_t i, struct err *err)
{
	const struct entry_work *entries = arg;
	struct tree *tree = entries->tree;
	const struct entry *entry = &tree->manifest->entries[i];
	auto_close int fd = -1;

	if (!tree->content[i])
		return 0;
	if (cancel_check(entries->cancel, err) < 0)
		return -1;
	/* One of the seed may be read-only, even to its owner. */
	fd = beneath_open(tree->root_fd, entry->path, tree->linked[i] ? O_RDONLY : O_WRONLY, 0);
	if (fd < 0)
		return err_os(err, errno, "%s", entry->path);
	return file_tree_apply_metadata(fd, tree->content[i], err);
}

static int make_link(const struct tree *tree, const struct entry *entry,
		     struct beneath_parent *above, struct err *err)
{
	struct timespec times[2] = {
		{.tv_nsec = UTIME_OMIT},
		{.tv_sec = entry->mtime_s, .tv_nsec = entry->mtime_ns},
	};
	const char *name;
	int in = beneath_parent_of(above, entry->path, &name), result;

	if (in < 0)
		result = -1;
	else if (entry->type == ENTRY_HARDLINK)
		result = beneath_link(tree->root_fd, entry->target, in, name);
	else
		result = symlinkat(entry->target, in, name);
	if (result < 0)
		return err_os(err, errno, "%s", entry->path);
	if (entry->type == ENTRY_SYMLINK)
		/* Best effort: not every file system keeps the times of links. */
		utimensat(in, name, times, AT_SYMLINK_NOFOLLOW);
	return 0;
}

static int make_links(const struct tree *tree, enum entry_type type, struct err *err)
{
	auto_(beneath_parent_close) struct beneath_parent above = BENEATH_PARENT(tree->root_fd);

	for (size_t i = 0; i < tree->manifest->entry_count; i++) {
		const struct entry *entry = &tree->manifest->entries[i];

		if (entry->type == type && tree->selected[i] && !tree->content[i] &&
		    make_link(tree, entry, &above, err) < 0)
			return -1;
	}
	return 0;
}

/* Deepest first: making anything in a directory changes its times, and the final mode may forbid
 * writing. */
static int finish_directories(const struct tree *tree, struct err *err)
{
	const struct manifest *manifest = tree->manifest;

	for (size_t i = manifest->entry_count; i > 0; i--) {
		const struct entry *entry = &manifest->entries[i - 1];
		auto_close int fd = -1;

		if (entry->type != ENTRY_DIRECTORY || !tree->selected[i - 1])
			continue;
		fd = beneath_open_directory(tree->root_fd, entry->path);
		if (fd < 0)
			return err_os(err, errno, "%s", entry->path);
		if (file_tree_apply_metadata(fd, entry, err) < 0)
			return -1;
	}
	if (fchmod(tree->root_fd, manifest->directory_mode) < 0)
		return err_os(err, errno, "the restored directory");
	return 0;
}

int restore_tree_finish(struct tree *tree, unsigned threads, bool sync, struct cancel *cancel,
			struct err *err)
{
	if (for_each_entry(tree, threads, finish_file, cancel, err) < 0)
		return -1;
	if (make_links(tree, ENTRY_HARDLINK, err) < 0 || make_links(tree, ENTRY_SYMLINK, err) < 0)
		return -1;
	if (finish_directories(tree, err) < 0)
		return -1;
	/* Once for all: a file system's own order is better than one fsync(2) a file. */
	return sync && syncfs(tree->root_fd) < 0 ? err_os(err, errno, "the restored files") : 0;
}
