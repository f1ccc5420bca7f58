/*
 * PRIVATE to storage/. Files of the parent that stay in a snapshot although they are not read anew:
 * a file under a fixed name that is just being written over is in the snapshot as the parent has
 * it, instead of not at all.
 */
#ifndef CARRY_OVER_H
#define CARRY_OVER_H

#include "storage/storage.h"
#include "storage/transfer/transfer.h"

/*
 * Adds to `tree` the files of the parent that request->carried asks for and that the tree lacks,
 * with the directories above them. A symbolic link stays what it is, a hard link stays as a file.
 * Their chunks are not sent again: an entry of which one is not in the store any more stays out.
 * Reads the parent's manifest, unless request->carries says that there is nothing to carry. Blocks
 * for that.
 */
int carry_over(struct storage *storage, const struct save_request *request, struct file_tree *tree,
	       struct cancel *cancel, struct err *err);

#endif
