/*
 * For `reprieve drill` alone, which must know whether a job has read its checkpoint: writes down
 * which files below the checkpoint directory this process opens, if SHIM_ENV_ACCESS_LOG names a
 * file. One line each, appended by one write(): "r DEVICE INODE PATH" (open for reading) or
 * "w DEVICE INODE PATH" (for writing), the path relative to the checkpoint directory. At most
 * ACCESS_LOG_MOST lines by each process. No allocation, no lock.
 */
#ifndef ACCESS_LOG_H
#define ACCESS_LOG_H

#include "path_resolve.h"

#include <stdatomic.h>
#include <stdbool.h>

#define ACCESS_LOG_MOST 20000

extern atomic_bool access_log_wanted;

/* Costs one load. */
static inline bool access_log_is_wanted(void)
{
	return atomic_load_explicit(&access_log_wanted, memory_order_relaxed);
}

/* Reads the environment. */
void access_log_start(void);

/* Notes a file that was opened with `flags` (O_*). May change errno: callers save it. */
void access_log_note(const struct resolved_path *resolved_path, int flags);

#endif
