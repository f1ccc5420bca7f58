#ifndef KILL_TREE_H
#define KILL_TREE_H

#include <stddef.h>

/*
 * SIGKILL to every process below us, whatever it forks meanwhile. Does not wait: returns how many
 * were still there, 0 when there is nothing left to kill. Call child_reap() and this again later
 * until it is 0; a process in uninterruptible sleep may outlive it.
 */
size_t kill_tree(void);

#endif
