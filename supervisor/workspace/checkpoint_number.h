/*
 * PURE. The numbers in checkpoints' names: "checkpoint-500/model.pt", "step_120.npz",
 * "epoch=3-step=1200.ckpt". A training script that resumes from the highest number looks at
 * directories, not at files.
 */
#ifndef CHECKPOINT_NUMBER_H
#define CHECKPOINT_NUMBER_H

#include <stddef.h>
#include <stdint.h>

/* The decimal number at the beginning of the text; -1: none. */
int64_t checkpoint_number_at(const char *text, size_t length);

/* The number after a word for a checkpoint, as in "checkpoint-500", "global_step5" or
 * "epoch=3-step=10"; -1: none. The name has `length` bytes; a slash or the end follows. */
int64_t checkpoint_number_of_name(const char *name, size_t length);

/* Length of the leading part of `path` that names a numbered checkpoint directory
 * ("run/checkpoint-500"); 0: the path is in none. */
size_t checkpoint_directory_length(const char *path);

/* --- the step of a path --- */

/*
 * The step in a path relative to the checkpoint directory: the number after "step" or "iter"
 * anywhere in it; otherwise the last number of the first component that has one, without its
 * extension. -1: none.
 */
int64_t step_of_path(const char *path);

#endif
