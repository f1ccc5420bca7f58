/*
 * supervisor/restore/: MAP
 *
 * For other folders, through this header alone:
 *
 *	predecessor_wait.h      Waits for the attempt before this one where that is being preempted
 *	                        and still saves
 *	quarantine.h    * Before the job starts: what is torn in the checkpoint directory is moved
 *	                aside, so that a script which takes "the newest one" takes a whole one
 *	resume.h        * Before the job starts: open the store, claim the attempt, and have the
 *	                newest good checkpoint lie in the checkpoint directory, whether it is
 *	                fetched or was here already
 *
 * Of this folder only:
 *
 *	attempt_outcomes.h      Reads how earlier attempts of the job went, and rules on the next
 *	                        one (restart_rules.h)
 *	reconcile.h	* PURE
 *	restart_rules.h	* PURE
 */
#ifndef RESTORE_H
#define RESTORE_H

#include "predecessor_wait.h"
#include "quarantine.h"
#include "resume.h"

#endif
