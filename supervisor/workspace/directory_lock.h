/*
 * One run in one checkpoint directory: two would take each other's files for their own. The lock is
 * the kernel's, and goes with its process however that ends; a job that outlives its supervisor is
 * known by what is written in the lock. On a network file system a lock may outlive its machine, so
 * only a run on this machine is an obstacle; between machines the attempts decide (storage.h).
 */
#ifndef DIRECTORY_LOCK_H
#define DIRECTORY_LOCK_H

#include "base/cancel.h"
#include "base/err.h"

#include <sys/types.h>

/*
 * Takes the lock in `beside` (DIR.reprieve), which is there, and says in it who holds it. Waits a
 * second for a run, or the job of one that is gone, that is just ending.
 * Returns a descriptor that holds the lock until it is closed; -2 where no lock can be had but
 * nobody on this machine holds it; -1 with ERR_EXISTS naming the run or the job that does, or
 * ERR_CANCELLED.
 */
int directory_lock(const char *beside, const char *job, struct cancel *cancel, struct err *err);

/* Once, by its holder: this process is the job. */
void directory_lock_note_job(int fd, pid_t pid);

#endif
