/*
 * supervisor/restore/: everything that happens before the job starts. The order, as in resume.c:
 * wait for a previous attempt that still saves, apply the restart rules, lock the directory, claim
 * an attempt, then restore a snapshot or keep the files that are there.
 *
 * What ends a restore: storage_restore() makes the files durable in a staging directory;
 * workspace_install() puts it in place; then it is recorded what was restored; then job_start.c
 * posts EV_RESTORED. `reprieve restore` has an end of its own in cli/cmd_restore.c.
 *
 * For other folders, through this header alone; read resume.h first:
 *
 *	resume.h		resume_run(): all of the above, in one blocking call
 *	predecessor_wait.h	waits for a previous attempt that is preempted and still saves;
 *tells the next one that this one does quarantine.h		moves torn files aside
 *	attempt_outcomes.h	reads how earlier attempts ended, and whether the last one lives;
 *				PURE: start, roll back one snapshot, or do not start
 *
 * Of this folder only:
 *
 *	start.h			a start on its way: place_checkpoint.c restores the snapshot or
 *keeps the local files; start_restore.c restores the snapshot, or what is whole of it, and puts
 *files under fixed names back that were moved aside; resume_gang.c is the same for a member of a
 *gang reconcile.h		PURE: restore the snapshot, or keep the local files; does what was
 *				under way stay
 */
#ifndef RESTORE_H
#define RESTORE_H

#include "attempt_outcomes.h"
#include "predecessor_wait.h"
#include "quarantine.h"
#include "resume.h"

#endif
