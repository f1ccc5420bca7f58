/* What lies in a checkpoint directory. Blocks. */
#ifndef DIRECTORY_FILES_H
#define DIRECTORY_FILES_H

#include "base/err.h"
#include "storage/storage.h"

/* Regular files below the directory, relative, sorted, without those of our own place in it (.reprieve/). A directory that is not there
 * has none. The caller releases `files`, also after -1. */
int directory_files(const char *directory, struct snapshot_files *files, struct err *err);

static inline void cleanup_snapshot_files_release(struct snapshot_files *files)
{
	snapshot_files_release(files);
}

#endif
