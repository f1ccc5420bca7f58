/* What lies in a checkpoint directory. Blocks. */
#ifndef FILE_LIST_H
#define FILE_LIST_H

#include "base/err.h"
#include "storage/storage.h"

#include <stdbool.h>

/*
 * Regular files below the directory, relative, sorted, without those of our own place in it
 * (.reprieve/). A directory that is not there has none. The caller releases `files`, also after -1.
 */
int file_list_read(const char *directory, struct snapshot_files *files, struct err *err);

/* Whether something has that name below it; `directory` is a const char *: this is a
 * latest_checkpoint_is_there_fn. */
bool file_list_path_exists(void *directory, const char *path);

/* PURE. The file of that path, by binary search; NULL. Borrowed from `files`. */
const struct snapshot_file *file_list_find(const struct snapshot_files *files, const char *path);
/* PURE. Whether size and modification time are equal; false if one is NULL. */
bool file_list_same_file(const struct snapshot_file *a, const struct snapshot_file *b);

static inline void cleanup_snapshot_files_release(struct snapshot_files *files)
{
	snapshot_files_release(files);
}

#endif
