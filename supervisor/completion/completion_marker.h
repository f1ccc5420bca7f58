/*
 * PURE. Is an event the last one of a framework's save: its marker file was closed or renamed into
 * place, or its sentinel file was removed? The profile names both (frameworks/profile.h).
 */
#ifndef COMPLETION_MARKER_H
#define COMPLETION_MARKER_H

#include "frameworks/frameworks.h"
#include "monitor/monitor.h"

#include <stdbool.h>

/* By a shim report, and by a kernel event. `profile` may be NULL: then false. */
bool completion_marker_by_shim(const struct profile *profile, const struct shim_message *message);
bool completion_marker_by_kernel(const struct profile *profile, const struct dir_event *event);

#endif
