/* PURE. Was an event the last thing that a save of this framework does? The marker closed or
 * renamed, the sentinel removed. */
#ifndef COMPLETION_MARKER_H
#define COMPLETION_MARKER_H

#include "frameworks/frameworks.h"
#include "monitor/monitor.h"

#include <stdbool.h>

/* `profile` may be NULL. */
bool completion_marker_by_shim(const struct profile *profile, const struct shim_message *message);
bool completion_marker_by_kernel(const struct profile *profile, const struct dir_event *event);

#endif
