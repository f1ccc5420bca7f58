/*
 * storage/snapshots/: what storage.h offers for one job: claim an attempt, save, restore, list,
 * verify, export, forget. One .c file per operation. Read FORMAT.md and storage/records/ first,
 * then attempts.c and snapshot_save.c.
 *
 * For the rest of storage/, and declared here:
 *
 *	index_warmup.c		fills the index of chunks while a save begins
 *	first_look.h		what a claim looks at first, asked for before
 *
 * Of this folder only:
 *
 *	attempt_forget.h	removes the records and notes of attempts without snapshots
 *	inventory.h		all snapshots of a job with their states, pins and packs
 *	listing.h		the files of a manifest
 *	retention.h		PURE: which snapshots are kept, which packs are garbage
 *	pin_place.h		of a pin and a removal, the first decides
 *	garbage_collect.h	removes unnamed packs
 *	orphan_packs.h		reuses packs of attempts killed before a commit
 *
 * The operations, declared in storage_*.h and used through storage.h:
 *
 *	attempts.c		claims an attempt, writes the end record
 *	attempt_notes.c		events, log and metrics of an attempt, for people; how they went
 *	drain_records.c		a preempted attempt that still saves
 *	snapshot_save.c		saves and commits a snapshot
 *	snapshot_presave.c	sends closed or growing files before the checkpoint is complete
 *	snapshot_restore.c	restores a snapshot into an empty directory
 *	listing.c		lists snapshots and their files
 *	snapshot_verify.c	reads and checks every chunk
 *	snapshot_export.c	writes a snapshot as tar.lz4
 *	pins.c  forget.c	keep one snapshot; remove those that the policy does not keep
 */
#ifndef STORAGE_SNAPSHOTS_H
#define STORAGE_SNAPSHOTS_H

#include "first_look.h"
#include "storage/records/records.h"

/*
 * Fills the index with the chunks that a save of `attempt` may rely on. The first call of a process
 * reads the manifest of `parent`, and lists the packs that it names and those that killed attempts
 * left behind. A later call drops what was found lost since.
 *
 * A damaged manifest or pack is no error: its chunks are sent again. -1 means a failure of the
 * store itself, or ERR_CANCELLED.
 */
int index_warmup(struct storage *storage, struct snapshot_id parent, uint32_t attempt,
		 struct cancel *cancel, struct err *err);

/* The two parts of that, for a claim. The first begins anew, and fills `packs`; the second follows
 * the second look of the claim. */
int index_warmup_look(struct storage *storage, struct snapshot_id parent, uint32_t attempt,
		      struct store_listing *packs, struct cancel *cancel, struct err *err);
int index_warmup_finish(struct storage *storage, struct snapshot_id parent,
			const struct store_listing *packs, struct cancel *cancel, struct err *err);

/* Frees what the storage remembers of the manifests that its last inventory has read. */
void inventory_forget_known(struct storage *storage);

/* Fills `files`, which is empty, as others see them; the manifest has its entries. */
void listing_add_files(const struct manifest *manifest, struct snapshot_files *files);

#endif
