#include "restore_tree.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/workers.h"
#include "file_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void layout_release(struct layout *layout)
{
	if (layout->content && layout->root_fd >= 0)
		close(layout->root_fd);
	free(layout->content);
	free(layout->wanted);
	*layout = (struct layout){.root_fd = -1};
}

/* --- what is wanted --- */

static size_t number_of(const struct layout *layout, const struct entry *entry)
{
	return (size_t)(entry - layout->manifest->entries);
}

static void want_parents(struct layout *layout, const char *path)
{
	auto_free char *above = text_copy(path);

	for (char *slash = strrchr(above, '/'); slash; slash = strrchr(above, '/')) {
		const struct entry *parent;

		*slash = '\0';
		parent = manifest_find(layout->manifest, above);
		if (parent)
			layout->wanted[number_of(layout, parent)] = true;
	}
}

static void choose(struct layout *layout, bool (*include)(void *arg, const char *path), void *arg)
{
	const struct manifest *manifest = layout->manifest;

	for (size_t i = 0; i < manifest->entry_count; i++) {
		const struct entry *entry = &manifest->entries[i];

		if (include && !include(arg, entry->path))
			continue;
		layout->wanted[i] = true;
		want_parents(layout, entry->path);
	}
	for (size_t i = 0; i < manifest->entry_count; i++) {
		const struct entry *entry = &manifest->entries[i], *file = entry;

		if (entry->type == ENTRY_HARDLINK)
			file = manifest_find(manifest, entry->target);
		if (!layout->wanted[i] || !file || file->type != ENTRY_FILE)
			continue;
		if (file == entry || !layout->wanted[number_of(layout, file)])
			layout->content[i] = file;
	}
}

/* --- the beginning --- */

/* Never as the C library emulates it: that writes all of it. */
static int make_room(int fd, uint64_t offset, uint64_t size)
{
	int result;

	do
		result = fallocate(fd, 0, (off_t)offset, (off_t)size);
	while (result < 0 && errno == EINTR);
	/* A file system that cannot, cannot: there a full disk shows when it is written to. */
	return result < 0 && (errno == ENOSPC || errno == EDQUOT) ? -1 : 0;
}

/* For what is not a hole: that a disk is too small shows before the first byte is fetched. */
static int make_room_for_content(int fd, const struct entry *content)
{
	size_t count = chunk_count(content->size), end;

	for (size_t first = 0; first < count; first = end + 1) {
		uint64_t size = 0;

		for (end = first; end < count && content->chunks[end].codec != CHUNK_ZERO; end++)
			size += chunk_length(content->size, end);
		if (size > 0 && make_room(fd, first * CHUNK_SIZE, size) < 0)
			return -1;
	}
	return 0;
}

static int make_file(
	const struct layout *layout, const char *path, const struct entry *content, struct err *err)
{
	char text[24];
	auto_close int fd = openat(
		layout->root_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 || ftruncate(fd, (off_t)content->size) < 0)
		return err_os(err, errno, "%s", path);
	if (make_room_for_content(fd, content) < 0)
		return err_os(err, errno, "%s: making room for %s", path,
			text_bytes(content->size, text, sizeof(text)));
	return 0;
}

/* Directories that the manifest does not name, but puts something in. */
static int make_parents(const struct layout *layout, const char *path, struct err *err)
{
	auto_free char *partial = text_copy(path);

	for (char *slash = strchr(partial, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdirat(layout->root_fd, partial, 0777) < 0 && errno != EEXIST)
			return err_os(err, errno, "%s", partial);
		*slash = '/';
	}
	return 0;
}

static int make_entry(const struct layout *layout, size_t i, struct err *err)
{
	const struct entry *entry = &layout->manifest->entries[i];
	const char *slash = strrchr(entry->path, '/');
	auto_free char *parent =
		text_copy_n(entry->path, slash ? (size_t)(slash - entry->path) : 0);

	if (slash && !manifest_find(layout->manifest, parent) &&
		make_parents(layout, entry->path, err) < 0)
		return -1;
	/* Ours alone while it is being filled; the real mode comes last. */
	if (entry->type == ENTRY_DIRECTORY && mkdirat(layout->root_fd, entry->path, 0700) < 0 &&
		errno != EEXIST)
		return err_os(err, errno, "%s", entry->path);
	if (layout->content[i])
		return make_file(layout, entry->path, layout->content[i], err);
	return 0;
}

int layout_begin(struct layout *layout, const struct manifest *manifest, const char *directory,
	bool (*include)(void *arg, const char *path), void *arg, struct err *err)
{
	*layout = (struct layout){.manifest = manifest, .root_fd = -1};
	if (file_make_directories(directory, 0777, err) < 0)
		return -1;
	if (!file_directory_is_empty(directory))
		return err_set(err, ERR_EXISTS, "%s is not empty", directory);
	layout->content = memory_new(manifest->entry_count * sizeof(const struct entry *));
	layout->wanted = memory_new(manifest->entry_count * sizeof(*layout->wanted));
	layout->root_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (layout->root_fd < 0) {
		err_os(err, errno, "%s", directory);
		layout_release(layout);
		return -1;
	}
	choose(layout, include, arg);
	for (size_t i = 0; i < manifest->entry_count; i++) {
		if (!layout->wanted[i] || make_entry(layout, i, err) == 0)
			continue;
		layout_release(layout);
		return -1;
	}
	return 0;
}

int layout_open_file(const struct layout *layout, const char *path, struct err *err)
{
	int fd = openat(layout->root_fd, path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? err_os(err, errno, "%s", path) : fd;
}

/* --- the end --- */

struct finishing {
	struct layout *layout;
	struct cancel *cancel;
	atomic_size_t next;
	atomic_bool failed;
	pthread_mutex_t mutex;
	struct err err; /* under mutex */
};

static int finish_file(
	const struct layout *layout, size_t i, struct cancel *cancel, struct err *err)
{
	const struct entry *entry = &layout->manifest->entries[i];
	auto_close int fd = -1;

	if (!layout->content[i])
		return 0;
	if (cancel_check(cancel, err) < 0)
		return -1;
	fd = layout_open_file(layout, entry->path, err);
	if (fd < 0)
		return -1;
	return tree_apply(fd, layout->content[i], err);
}

static void finish_files(void *arg, size_t index)
{
	struct finishing *finishing = arg;
	struct err err = {0};

	(void)index;
	while (!atomic_load(&finishing->failed)) {
		size_t i = atomic_fetch_add(&finishing->next, 1);

		if (i >= finishing->layout->manifest->entry_count)
			return;
		if (finish_file(finishing->layout, i, finishing->cancel, &err) == 0)
			continue;
		pthread_mutex_lock(&finishing->mutex);
		if (!atomic_exchange(&finishing->failed, true))
			finishing->err = err;
		pthread_mutex_unlock(&finishing->mutex);
	}
}

static int make_link(const struct layout *layout, const struct entry *entry, struct err *err)
{
	struct timespec times[2] = {
		{.tv_nsec = UTIME_OMIT},
		{.tv_sec = entry->mtime_s, .tv_nsec = entry->mtime_ns},
	};
	int root = layout->root_fd, result;

	if (entry->type == ENTRY_HARDLINK)
		result = linkat(root, entry->target, root, entry->path, 0);
	else
		result = symlinkat(entry->target, root, entry->path);
	if (result < 0)
		return err_os(err, errno, "%s", entry->path);
	if (entry->type == ENTRY_SYMLINK)
		/* Not every file system keeps the times of links, and nobody needs them. */
		utimensat(root, entry->path, times, AT_SYMLINK_NOFOLLOW);
	return 0;
}

static int make_links(const struct layout *layout, enum entry_type type, struct err *err)
{
	for (size_t i = 0; i < layout->manifest->entry_count; i++) {
		const struct entry *entry = &layout->manifest->entries[i];

		if (entry->type == type && layout->wanted[i] && !layout->content[i] &&
			make_link(layout, entry, err) < 0)
			return -1;
	}
	return 0;
}

/* Deepest first: whatever is made in a directory changes its time, and some may not be writable in the end. */
static int finish_directories(const struct layout *layout, struct err *err)
{
	const struct manifest *manifest = layout->manifest;

	for (size_t i = manifest->entry_count; i > 0; i--) {
		const struct entry *entry = &manifest->entries[i - 1];
		auto_close int fd = -1;

		if (entry->type != ENTRY_DIRECTORY || !layout->wanted[i - 1])
			continue;
		fd = openat(layout->root_fd, entry->path,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			return err_os(err, errno, "%s", entry->path);
		if (tree_apply(fd, entry, err) < 0)
			return -1;
	}
	if (fchmod(layout->root_fd, manifest->directory_mode) < 0 || fsync(layout->root_fd) < 0)
		return err_os(err, errno, "the restored directory");
	return 0;
}

int layout_finish(struct layout *layout, unsigned threads, struct cancel *cancel, struct err *err)
{
	struct finishing finishing = {.layout = layout, .cancel = cancel};

	pthread_mutex_init(&finishing.mutex, NULL);
	parallel_run(threads, finish_files, &finishing);
	pthread_mutex_destroy(&finishing.mutex);
	if (finishing.failed) {
		if (err)
			*err = finishing.err;
		return -1;
	}
	if (make_links(layout, ENTRY_HARDLINK, err) < 0 ||
		make_links(layout, ENTRY_SYMLINK, err) < 0)
		return -1;
	return finish_directories(layout, err);
}
