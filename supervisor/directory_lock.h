/*
 * One run in one checkpoint directory: two would take each other's files for their own. The lock is the kernel's, and goes with its
 * process however that ends. On a network file system a lock may outlive its machine, so only a run on this machine is an obstacle;
 * between machines the attempts decide (storage.h).
 */
#ifndef DIRECTORY_LOCK_H
#define DIRECTORY_LOCK_H

#include "base/cancel.h"
#include "base/err.h"

/*
 * Takes the lock in `beside` (DIR.reprieve), which is there, and says in it who holds it. Waits a second for a run that is just ending.
 * Returns a descriptor that holds the lock until it is closed; -2 where no lock can be had but nobody on this machine holds it; -1 with
 * ERR_EXISTS naming the run that does, or ERR_CANCELLED.
 */
int directory_lock(const char *beside, const char *job, struct cancel *cancel, struct err *err);

#endif
