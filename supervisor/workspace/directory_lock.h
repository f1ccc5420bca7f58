/*
 * Allows one run at a time in a checkpoint directory, because two would take each other's files for
 * their own. The kernel releases the lock when its process ends. The lock file names the job, so
 * that a job that outlives its supervisor is found too. On a network file system a lock may outlive
 * its machine: therefore only a run on this machine prevents a start, and between machines the
 * attempts in the store decide (storage.h).
 */
#ifndef DIRECTORY_LOCK_H
#define DIRECTORY_LOCK_H

#include "base/cancel.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Takes the lock in `folder` (DIR.reprieve, held open), and writes into it who holds it. Blocks
 * for up to a second if another run, or the job of a dead one, is just ending.
 *
 * `holder` gets the name of the job that holds it, or held it last; "": none is known.
 *
 * Returns a descriptor that holds the lock until it is closed. -2: locks do not work here, but
 * nobody on this machine holds it. -1: ERR_EXISTS, the sentence names the run or job that holds it;
 * ERR_RETRY, its holder has just ended and removed the folder, so make that anew; or ERR_CANCELLED.
 */
#define LOCK_HOLDER_SIZE 160
int directory_lock(int folder, const char *job, struct cancel *cancel,
		   char holder[LOCK_HOLDER_SIZE], struct err *err);

/* True: directory_lock() would be refused just now, with `err`. Takes nothing and writes nothing.
 */
bool directory_lock_is_held(int folder, struct err *err);

/* The pid of the supervisor that holds it, or held it last, in this boot of the machine; 0: none is
 * known. */
int directory_lock_last_supervisor(int folder);

/* The holder calls it after the start, and again if another process becomes the job: `pid` is the
 * job. */
void directory_lock_note_job(int fd, pid_t pid);

/*
 * Marks of the members of a gang in our folder: each puts one before it joins, and takes it away
 * once all have started. So which of them have the same checkpoint directory, on a file system that
 * several machines see, is proven by a file and not by a name. All functions block.
 */

struct workspace;

int workspace_mark_member(struct workspace *workspace, const char *nonce, struct err *err);
void workspace_unmark_member(struct workspace *workspace, const char *nonce);
/* Whether others than `own` are about to start here. */
bool workspace_has_other_mark(struct workspace *workspace, const char *own);
/*
 * `nonces` are those of all members, in their order. Sets here[member] for each that has its mark
 * here, which is so for `own`. Puts that anew first: a machine that has the directory from a server
 * then reads again who else is in it. Marks of a day ago are removed.
 */
int workspace_find_members(struct workspace *workspace, json_t *nonces, const char *own, bool *here,
			   struct err *err);

#endif
