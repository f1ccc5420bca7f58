/*
 * Looks for checkpoints that the job saves outside the checkpoint directory, where nobody watches
 * them. A file counts by its name alone. Each process reports one for each of at most
 * SAVED_ELSEWHERE_MOST directories, and one more: that one when it is saved again, or another with
 * a number ("step-20.pt"). No allocation, no lock; for a name that does not look like a
 * checkpoint's, no system call. May change errno: callers save it.
 */
#ifndef SAVED_ELSEWHERE_H
#define SAVED_ELSEWHERE_H

#include <stdbool.h>

#define SAVED_ELSEWHERE_MOST 8

/* PURE. Does the path end in a name that checkpoints have: "model.pt", "ckpt-10", or any file in
 * "checkpoint-10/"? */
bool saved_elsewhere_is_checkpoint_name(const char *path);

/* PURE. May checkpoints be kept at that absolute path? False for temporary files, caches, installed
 * packages, hidden directories, and our own folders. `directory` is the checkpoint directory: if it
 * is below /tmp, checkpoints may be there. */
bool saved_elsewhere_is_kept_place(const char *path, const char *directory);

/* Reports the file if it is such a checkpoint. It was made or emptied (open), or got this name
 * (rename), and is not in the checkpoint directory. `path` may be NULL. Call only after
 * channel_ready(). */
void saved_elsewhere_report(int directory_fd, const char *path);

#endif
