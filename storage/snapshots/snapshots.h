/*
 * storage/snapshots/: what storage.h offers for one job: claim an attempt, save, restore, list,
 * verify, export, forget. One .c file per operation. Read FORMAT.md and storage/records/ first,
 * then attempts.c and snapshot_save.c.
 *
 * For the rest of storage/, through this header alone:
 *
 *	index_warmup.h		fills the index of chunks while a save begins
 *
 * Of this folder only:
 *
 *	attempt_forget.h	removes the records and notes of attempts without snapshots
 *	inventory.h		all snapshots of a job with their states, pins and packs
 *	retention.h		PURE: which snapshots are kept, which packs are garbage
 *	pin_place.h		of a pin and a removal, the first decides
 *	garbage_collect.h	removes unnamed packs
 *	restore_content.h	fills the files of a restore
 *	orphan_packs.h		reuses packs of attempts killed before a commit
 *
 * The operations, declared in storage_*.h and used through storage.h:
 *
 *	attempts.c		claims an attempt, writes the end record
 *	attempt_notes.c		events, log and metrics of an attempt, for people
 *	drain_records.c		announces that a preempted attempt still saves; reads that
 *	snapshot_save.c		saves and commits a snapshot
 *	snapshot_presave.c	sends closed or growing files before the checkpoint is complete
 *	snapshot_restore.c	restores a snapshot into an empty directory
 *	snapshot_verify.c	reads and checks every chunk
 *	snapshot_export.c	writes a snapshot as tar.lz4
 *	pins.c  forget.c	keep one snapshot; remove those that the policy does not keep
 */
#ifndef STORAGE_SNAPSHOTS_H
#define STORAGE_SNAPSHOTS_H

#include "index_warmup.h"

#endif
