/* PURE. The training step that a checkpoint's name tells: "step_120.npz",
 * "checkpoint-500/model.pt", "epoch=3-step=1200.ckpt". */
#ifndef STEP_H
#define STEP_H

#include <stdint.h>

/*
 * Of one path relative to the checkpoint directory: the number behind "step" or "iter" anywhere in
 * it; otherwise the last number in the first component that has one, its extension left out. -1:
 * none.
 */
int64_t step_of_path(const char *path);

#endif
