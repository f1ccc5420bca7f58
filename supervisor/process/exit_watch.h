/*
 * Watches processes that are not our children, and reports when and how they end. A pidfd becomes
 * readable at the end. The exit status comes from the kernel (Linux 6.15), or from /proc if the
 * process is not reaped yet; otherwise it is unknown. Lives on the loop.
 */
#ifndef EXIT_WATCH_H
#define EXIT_WATCH_H

#include "base/loop.h"

#include <stdbool.h>
#include <sys/types.h>

/* Most processes that can be watched at a time. */
#define EXIT_WATCH_MOST 256

struct exit_watch;

/* `wait_status` as waitpid() gives it; -1: unknown. Not called for a process that has become our
 * child: waitpid() reports that one. */
typedef void exit_watch_fn(void *arg, pid_t pid, int wait_status);

struct exit_watch *exit_watch_new(struct loop *loop, exit_watch_fn *ended, void *arg);
void exit_watch_free(struct exit_watch *watch);

/* `pid` in our PID namespace. True: its end will be reported, also if it was watched already.
 * False: it is gone, EXIT_WATCH_MOST are watched, or there are no pidfds (Linux before 5.3,
 * sandboxes). */
bool exit_watch_add(struct exit_watch *watch, pid_t pid);

#endif
