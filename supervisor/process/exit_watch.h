/*
 * How processes end that are not our children: through a descriptor of the process (pidfd), which tells when; and how, where the kernel
 * remembers it (Linux 6.15), or where nobody has waited for the process yet. On the loop.
 */
#ifndef EXIT_WATCH_H
#define EXIT_WATCH_H

#include "base/loop.h"

#include <stdbool.h>
#include <sys/types.h>

/* Beyond that many at a time, process_ends_watch() fails. */
#define PROCESS_ENDS_MOST 256

struct process_ends;

/* Not called for what has become our child: waitpid() tells that. `wait_status` as waitpid() gives it; -1: it ended, and nobody says how. */
typedef void process_ends_fn(void *arg, pid_t pid, int wait_status);

struct process_ends *process_ends_new(struct loop *loop, process_ends_fn *ended, void *arg);
void process_ends_free(struct process_ends *ends);

/* By our number. False when its end will not be told: it is gone, or the kernel (before 5.3) or a sandbox has no such thing. Fine for one
 * that is watched. */
bool process_ends_watch(struct process_ends *ends, pid_t pid);

#endif
