#ifndef KILL_TREE_H
#define KILL_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Sends SIGKILL to all our descendants, and to those that they fork meanwhile. Does not wait.
 * Returns how many still existed; 0: none is left. Call child_reap() and this function again until
 * it returns 0; a process in uninterruptible sleep may survive for long.
 */
size_t kill_tree(void);
/* The same of the descendants of another process, without it. Its orphans stay below it only if it
 * is a subreaper. */
size_t kill_tree_below(pid_t root);

/*
 * Sends SIGTERM to our descendants, but for those that `spares` names: as a terminal and a
 * scheduler do. A DataLoader worker is spared too, because its rank would take its end for a crash.
 * Does not wait. Returns how many got it.
 */
size_t terminate_tree(bool (*spares)(void *arg, pid_t pid), void *arg);

#endif
