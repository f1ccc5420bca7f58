/*
 * supervisor/upload/: what happens after a checkpoint is complete: one snapshot at a time goes to
 * the store, by storage_save(). All of it lives on the loop; the work runs on one worker thread, so
 * that the storage is used by one call at a time.
 *
 * For other folders, through this header alone; read snapshot_queue.h first:
 *
 *	snapshot_queue.h	uploads complete checkpoints: one runs, at most one waits
 *	retention_worker.h	applies the --keep-* rules after a commit
 *
 * Of this folder only:
 *
 *	snapshot_round.c	of a gang: a snapshot is a part in a round
 *	snapshot_run.h		one snapshot: which files belong to it, and what a pointer may name
 *	early_upload.h		uploads large files while their checkpoint is being written
 *	database_copies.h	stands copies in for the databases among the files of a snapshot
 *	database_backup.h	copies one SQLite database that may be in use
 *	database_parts.h	its two halves: through SQLite, and the files as they are
 */
#ifndef UPLOAD_H
#define UPLOAD_H

#include "retention_worker.h"
#include "snapshot_queue.h"

#endif
