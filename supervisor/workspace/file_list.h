/* The list of files in a checkpoint directory. Blocks. */
#ifndef FILE_LIST_H
#define FILE_LIST_H

#include "base/cleanup.h"
#include "base/err.h"
#include "storage/storage.h"

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

/*
 * Lists the regular files below the directory with relative paths, sorted, without our own folder
 * (.reprieve/). A directory that does not exist has none. The caller releases `files`, also
 * after -1.
 */
int file_list_read(const char *directory, struct snapshot_files *files, struct err *err);
/* The same for one that is held open. */
int file_list_read_at(int directory, struct snapshot_files *files, struct err *err);

/* Is the directory to be looked into? `path` is relative. */
typedef bool file_list_enter_fn(void *arg, const char *path);
/* The same, without what lies in directories that `enter` refuses. */
int file_list_read_some(int directory, file_list_enter_fn *enter, void *arg,
			struct snapshot_files *files, struct err *err);

/* PURE. For a list that is made in another way: takes ownership of the file's path; sorts. */
void file_list_add(struct snapshot_files *files, struct snapshot_file file);
void file_list_sort(struct snapshot_files *files);

/* Does `path` exist below `directory`? That is a const char *, so that this function is a
 * latest_checkpoint_is_there_fn. */
bool file_list_path_exists(void *directory, const char *path);

/* PURE. Finds a file by its path; NULL: not in the list. Borrowed from `files`. */
const struct snapshot_file *file_list_find(const struct snapshot_files *files, const char *path);
/* PURE. Nanoseconds since 1970. */
int64_t file_list_time_ns(const struct timespec *time);
/* PURE. Are size and modification time equal, and, where both are known, inode and change time?
 * False if one is NULL. */
bool file_list_same_file(const struct snapshot_file *a, const struct snapshot_file *b);

/* PURE. A set of relative paths with marks, which are bits that the caller defines. A path without
 * marks is not in it. */

struct path_entry {
	char *path;
	unsigned marks;
	struct path_entry *next;
};

struct path_set {
	void *root;               /* of tsearch(3) */
	struct path_entry *first; /* of all, in no order */
	size_t count;
};

void path_set_release(struct path_set *set);
AUTO(struct path_set, path_set_release);

/* The path's marks; 0: it is not in the set. */
unsigned path_set_marks(const struct path_set *set, const char *path);
void path_set_mark(struct path_set *set, const char *path, unsigned marks);

/* For each path of a set or a list. */
typedef void path_set_fn(void *argument, const char *path);

/* Is `path` equal to `directory` or below it? */
bool path_set_is_below(const char *path, const char *directory);

/* A list of path copies in the order of their addition; not empty, the array ends in NULL.
 * Zero-initialise. */
struct path_list {
	char **paths; /* owned: path_list_free() */
	size_t count;
};

/* Adds a copy. `list` is a struct path_list; this function is a path_set_fn. */
void path_list_add(void *list, const char *path);

/* Frees the paths of an array that ends in NULL, and the array. NULL: does nothing. */
void path_list_free(char **paths);

#endif
