/*
 * PURE. What of a damaged snapshot is left out so that the rest can be restored: its newest
 * checkpoint is whole, and files of others, or running files, are not. A checkpoint is left out as
 * a whole, never in part.
 */
#ifndef SALVAGE_H
#define SALVAGE_H

#include "storage/storage.h"
#include "workspace/workspace.h"

#include <stdbool.h>

/*
 * Marks in `left_out`, which starts empty, what must not be restored: the `lost` files, and all
 * others of their checkpoints. False, with the sentence in *why (static) and the file in *path
 * (borrowed from `lost`): the rest would not do. It does if each lost file is a running one, or is
 * of a checkpoint whose name is certain (checkpoint_name.h) and of which each file has a newer one
 * of its kind that stays.
 */
bool salvage_decide(const struct snapshot_files *files, const struct path_list *lost,
		    const struct file_patterns *patterns, struct path_set *left_out,
		    const char **why, const char **path);

#endif
