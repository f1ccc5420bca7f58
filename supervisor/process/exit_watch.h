/*
 * How processes end that are not our children: through a descriptor of the process (pidfd), which
 * tells when; and how, where the kernel remembers it (Linux 6.15), or where nobody has waited for
 * the process yet. On the loop.
 */
#ifndef EXIT_WATCH_H
#define EXIT_WATCH_H

#include "base/loop.h"

#include <stdbool.h>
#include <sys/types.h>

/* Beyond that many at a time, exit_watch_add() fails. */
#define EXIT_WATCH_MOST 256

struct exit_watch;

/* Not called for what has become our child: waitpid() tells that. `wait_status` as waitpid() gives
 * it; -1: it ended, and nobody says how. */
typedef void exit_watch_fn(void *arg, pid_t pid, int wait_status);

struct exit_watch *exit_watch_new(struct loop *loop, exit_watch_fn *ended, void *arg);
void exit_watch_free(struct exit_watch *watch);

/* By our number. False when its end will not be told: it is gone, or the kernel (before 5.3) or a
 * sandbox has no such thing. Fine for one that is watched. */
bool exit_watch_add(struct exit_watch *watch, pid_t pid);

#endif
