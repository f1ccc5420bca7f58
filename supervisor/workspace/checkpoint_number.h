/*
 * PURE. The numbers in checkpoints' names: "checkpoint-500/model.pt", "step_120.npz",
 * "epoch=3-step=1200.ckpt". A script that looks for the highest number sees directories, not files.
 */
#ifndef CHECKPOINT_NUMBER_H
#define CHECKPOINT_NUMBER_H

#include <stddef.h>
#include <stdint.h>

/* The decimal number that the text begins with; -1: none. */
int64_t checkpoint_number_at(const char *text, size_t length);

/* "checkpoint-500", "global_step5", "epoch=3-step=10": the number behind a word for a checkpoint;
 * -1 where there is none. What follows the name's `length` is a slash or the end. */
int64_t checkpoint_number_of_name(const char *name, size_t length);

/* The directory of a numbered checkpoint that a path lies in ("run/checkpoint-500"), as the length
 * of its part of the path; 0: in none, the file stands for itself. */
size_t checkpoint_directory_length(const char *path);

/* --- the step of a path --- */

/*
 * Of one path relative to the checkpoint directory: the number behind "step" or "iter" anywhere in
 * it; otherwise the last number in the first component that has one, its extension left out. -1:
 * none.
 */
int64_t step_of_path(const char *path);

#endif
