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
 *	next_attempt.h		tells the next attempt that this one still saves
 *	predecessor_wait.h	waits for a previous attempt that is preempted and still saves
 *	quarantine.h		moves torn files aside
 *	attempt_outcomes.h	reads how earlier attempts ended (through resume.h)
 *	attempt_life.h		does the attempt before this one live on this machine
 *	restart_rules.h		PURE: start, roll back one snapshot, or do not start (through
 *				resume.h)
 *
 * Of this folder only:
 *
 *	place_checkpoint.h	restores the snapshot, or keeps the local files
 *	reconcile.h		PURE: restore the snapshot, or keep the local files
 *	left_file.h		PURE: does what was under way stay
 *	start_restore.h		restores the snapshot that the attempt starts from
 *	resharding.h		PURE: may another number of machines read it
 *	salvage.h		PURE: what of a damaged snapshot is left out, to restore the rest
 *	put_back.h		restores files under fixed names that were moved aside
 *	resume_gang.h		the same for a member of a gang
 *	resume_log.c		in resume.h: says if the job starts, and what is restored or kept
 */
#ifndef RESTORE_H
#define RESTORE_H

#include "attempt_life.h"
#include "next_attempt.h"
#include "predecessor_wait.h"
#include "quarantine.h"
#include "resume.h"

#endif
