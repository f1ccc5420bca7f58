/*
 * storage/snapshots/: what storage.h offers for one job: claim an attempt, save, restore, list,
 * verify, export, forget. One .c file per operation. Read FORMAT.md and storage/records/ first,
 * then attempts.c and snapshot_save.c.
 *
 * Declared here: what a save may rely on (index_warmup.c, orphan_packs.c), and what a claim looks
 *at first (first_look.c). forget.h: what is removed, and what all of a job is read by for that.
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

/*
 * What the first look of a claim needs is asked for before that: the announcements with the
 * opening, or for a save by hand the lists of the history (`of_opening`); the lists, the newest
 * manifest and its packs with the history. Each serves once, within five seconds. The first look
 * may be old, since the second one, after the claim, is not. For who opens the store to claim.
 */

/* Each moves what it is given. `asked_ms`: when it was listed, of CLOCK_MONOTONIC. */
void first_look_keep_draining(struct storage *storage, struct store_listing *draining,
			      int64_t asked_ms);
void first_look_keep(struct storage *storage, struct job_listing *listing, bool of_opening);
/* Each moves what was kept; false: there is none. */
bool first_look_take_draining(struct storage *storage, struct store_listing *draining);
bool first_look_take(struct storage *storage, struct job_listing *listing, bool of_opening);

/* Asks for the newest manifest and its packs beside `questions`, which has room for two more.
 * Returns how many there are. */
size_t first_look_add(struct storage *storage, struct snapshot_id newest,
		      struct question *questions, size_t count);
/* Once all of these are answered. */
void first_look_added(struct storage *storage);
/* Whether both serve for this snapshot, once. */
bool first_look_has(struct storage *storage, struct snapshot_id id);
/* Then, if the manifest names no packs of other snapshots: they are moved. */
bool first_look_take_packs(struct storage *storage, const struct manifest *manifest,
			   struct store_listing *packs);

void first_look_release(struct first_look *look);

/*
 * packs that no manifest names because their writer was killed before the commit. A pack
 * describes its own chunks (pack.h), so the next attempt need not send them again. FORMAT.md,
 * "Orphaned packs", says why this is safe beside garbage collection.
 */

/*
 * PURE. Selects from a listing the packs that were written for a snapshot after `behind` and are
 * not in `index`: newest first, at most `most`. `chosen` points into the listing. Returns the
 * count.
 */
size_t orphan_packs_select(const struct store_listing *packs, const char *prefix,
			   struct snapshot_id behind, struct chunk_index *index,
			   const struct store_object **chosen, size_t most);

/* PURE. The time in ms to spend on reading orphaned packs: a tenth of the time that is left before
 * the deadline, at most 5 s. */
int64_t orphan_packs_time_limit_ms(int64_t left_ms);

/* Expects `behind` to be the newest snapshot that there was when the attempt was claimed, or newer.
 * Reads the indexes at the ends of the packs, 16 at a time, newest first, and adds their chunks to
 * the index of the storage. An unreadable pack is skipped. -1 only for ERR_CANCELLED. */
int orphan_packs_load(struct storage *storage, const struct store_listing *packs,
		      struct snapshot_id behind, struct cancel *cancel, struct err *err);

#endif
