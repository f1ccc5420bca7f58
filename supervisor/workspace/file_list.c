#include "file_list.h"

#include "base/beneath.h"
#include "base/held_directory.h"
#include "base/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <string.h>
#include <sys/stat.h>

int64_t file_list_time_ns(const struct timespec *time)
{
	return time->tv_sec * 1000000000LL + time->tv_nsec;
}

void file_list_add(struct snapshot_files *files, struct snapshot_file file)
{
	/* Grown when a power of two is reached. */
	if ((files->count & (files->count - 1)) == 0)
		files->items = memory_grow(files->items, files->count ? 2 * files->count : 1,
					   sizeof(files->items[0]));
	files->items[files->count++] = file;
}

static int64_t statx_time_ns(const struct statx_timestamp *time)
{
	return time->tv_sec * INT64_C(1000000000) + time->tv_nsec;
}

static int list_below(int directory, file_list_enter_fn *enter, void *arg,
		      struct snapshot_files *files, struct err *err)
{
	auto_(walk_close) struct walk walk = {0};

	if (walk_open_at(&walk, directory, "", 0) < 0)
		return err_os(err, errno, "the checkpoint directory");
	while (walk_next(&walk)) {
		struct statx status;

		if (text_equal(walk.path, ".reprieve") ||
		    (enter && walk_is_directory(&walk) && !enter(arg, walk.path)) ||
		    statx(walk.directory, walk.name, AT_SYMLINK_NOFOLLOW,
			  STATX_BASIC_STATS | STATX_BTIME, &status) < 0)
			continue;
		if (S_ISREG(status.stx_mode))
			file_list_add(files,
				      (struct snapshot_file){
					      .path = text_copy(walk.path),
					      .size = status.stx_size,
					      .mtime_ns = statx_time_ns(&status.stx_mtime),
					      .ctime_ns = statx_time_ns(&status.stx_ctime),
					      .inode = status.stx_ino,
					      .born_ns = status.stx_mask & STATX_BTIME
								 ? statx_time_ns(&status.stx_btime)
								 : 0,
				      });
		else if (S_ISDIR(status.stx_mode) && walk_enter(&walk) < 0)
			return err_os(err, errno, "%s", walk.path);
	}
	/* A list that ends too early would let the rest be removed without a copy. */
	return walk_check(&walk, err);
}

static int compare_files(const void *a, const void *b)
{
	return strcmp(((const struct snapshot_file *)a)->path,
		      ((const struct snapshot_file *)b)->path);
}

void file_list_sort(struct snapshot_files *files)
{
	if (files->count > 0)
		qsort(files->items, files->count, sizeof(files->items[0]), compare_files);
}

int file_list_read_some(int directory, file_list_enter_fn *enter, void *arg,
			struct snapshot_files *files, struct err *err)
{
	*files = (struct snapshot_files){0};
	if (list_below(directory, enter, arg, files, err) < 0)
		return -1;
	file_list_sort(files);
	return 0;
}

int file_list_read_at(int directory, struct snapshot_files *files, struct err *err)
{
	return file_list_read_some(directory, NULL, NULL, files, err);
}

int file_list_read(const char *directory, struct snapshot_files *files, struct err *err)
{
	struct err why;
	auto_close int held = held_directory_open(directory, &why);

	*files = (struct snapshot_files){0};
	if (held < 0)
		return why.kind == ERR_NOT_FOUND ? 0 : err_set(err, why.kind, "%s", why.text);
	return file_list_read_at(held, files, err);
}

bool file_list_path_exists(void *directory, const char *path)
{
	auto_close int held = held_directory_open(directory, NULL);

	return held >= 0 && beneath_exists(held, path);
}

static int compare_path(const void *key, const void *item)
{
	return strcmp(key, ((const struct snapshot_file *)item)->path);
}

const struct snapshot_file *file_list_find(const struct snapshot_files *files, const char *path)
{
	if (!files || files->count == 0)
		return NULL;
	return bsearch(path, files->items, files->count, sizeof(files->items[0]), compare_path);
}

bool file_list_same_file(const struct snapshot_file *a, const struct snapshot_file *b)
{
	if (!a || !b || a->size != b->size || a->mtime_ns != b->mtime_ns)
		return false;
	return a->ctime_ns == 0 || b->ctime_ns == 0 ||
	       (a->ctime_ns == b->ctime_ns && a->inode == b->inode);
}

/* --- sets and lists of paths --- */

static int compare_entries(const void *a, const void *b)
{
	return strcmp(((const struct path_entry *)a)->path, ((const struct path_entry *)b)->path);
}

static struct path_entry *find_entry(const struct path_set *set, const char *path)
{
	const struct path_entry wanted = {.path = (char *)path};
	struct path_entry *const *found = tfind(&wanted, &set->root, compare_entries);

	return found ? *found : NULL;
}

static void free_entry(void *arg)
{
	struct path_entry *entry = arg;

	free(entry->path);
	free(entry);
}

void path_set_release(struct path_set *set)
{
	tdestroy(set->root, free_entry);
	*set = (struct path_set){0};
}

unsigned path_set_marks(const struct path_set *set, const char *path)
{
	const struct path_entry *entry = find_entry(set, path);

	return entry ? entry->marks : 0;
}

void path_set_mark(struct path_set *set, const char *path, unsigned marks)
{
	struct path_entry *entry = find_entry(set, path);

	if (!entry && marks != 0) {
		entry = memory_new(sizeof(*entry));
		entry->path = text_copy(path);
		entry->next = set->first;
		set->first = entry;
		set->count++;
		if (!tsearch(entry, &set->root, compare_entries))
			abort();
	}
	if (entry)
		entry->marks |= marks;
}

bool path_set_is_below(const char *path, const char *directory)
{
	size_t length = strlen(directory);

	if (length == 0)
		return true;
	return strncmp(path, directory, length) == 0 &&
	       (path[length] == '\0' || path[length] == '/');
}

void path_list_add(void *argument, const char *path)
{
	struct path_list *list = argument;

	list->paths = memory_grow(list->paths, list->count + 2, sizeof(list->paths[0]));
	list->paths[list->count++] = text_copy(path);
	list->paths[list->count] = NULL;
}

void path_list_free(char **paths)
{
	for (char **path = paths; path && *path; path++)
		free(*path);
	free(paths);
}
