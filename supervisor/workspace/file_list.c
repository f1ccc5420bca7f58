#include "file_list.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct listing {
	struct snapshot_files *files;
	size_t capacity;
};

static void add_file(struct listing *listing, const char *path, const struct stat *status)
{
	struct snapshot_files *files = listing->files;

	if (files->count == listing->capacity) {
		listing->capacity = listing->capacity ? 2 * listing->capacity : 64;
		files->items =
			memory_grow(files->items, listing->capacity, sizeof(files->items[0]));
	}
	files->items[files->count++] = (struct snapshot_file){
		.path = text_copy(path),
		.size = (uint64_t)status->st_size,
		.mtime_ns = status->st_mtim.tv_sec * 1000000000LL + status->st_mtim.tv_nsec,
	};
}

static int list_below(int parent, const char *name, const char *prefix, struct listing *listing,
		      struct err *err)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	auto_closedir DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!directory)
		return errno == ENOENT ? 0 : err_os(err, errno, "%s", *prefix ? prefix : name);
	while ((entry = readdir(directory))) {
		auto_free char *path = NULL;
		struct stat status;

		if (text_equal(entry->d_name, ".") || text_equal(entry->d_name, "..") ||
		    (!*prefix && text_equal(entry->d_name, ".reprieve")))
			continue;
		if (fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		path = *prefix ? text_format("%s/%s", prefix, entry->d_name)
			       : text_copy(entry->d_name);
		if (S_ISREG(status.st_mode))
			add_file(listing, path, &status);
		else if (S_ISDIR(status.st_mode) &&
			 list_below(fd, entry->d_name, path, listing, err) < 0)
			return -1;
	}
	return 0;
}

static int compare_files(const void *a, const void *b)
{
	return strcmp(((const struct snapshot_file *)a)->path,
		      ((const struct snapshot_file *)b)->path);
}

int file_list_read(const char *directory, struct snapshot_files *files, struct err *err)
{
	struct listing listing = {.files = files};

	*files = (struct snapshot_files){0};
	if (list_below(AT_FDCWD, directory, "", &listing, err) < 0)
		return -1;
	if (files->count > 0)
		qsort(files->items, files->count, sizeof(files->items[0]), compare_files);
	return 0;
}

bool file_list_path_exists(void *directory, const char *path)
{
	auto_free char *full = text_format("%s/%s", (const char *)directory, path);

	return file_exists(full);
}

static int compare_path(const void *key, const void *item)
{
	return strcmp(key, ((const struct snapshot_file *)item)->path);
}

const struct snapshot_file *file_list_find(const struct snapshot_files *files, const char *path)
{
	if (files->count == 0)
		return NULL;
	return bsearch(path, files->items, files->count, sizeof(files->items[0]), compare_path);
}

bool file_list_same_file(const struct snapshot_file *a, const struct snapshot_file *b)
{
	return a && b && a->size == b->size && a->mtime_ns == b->mtime_ns;
}
