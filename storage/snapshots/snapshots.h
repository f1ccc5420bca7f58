/*
 * storage/snapshots/: what storage.h offers for one job: claim an attempt, save, restore, list,
 * verify, export, forget. One .c file per operation. Read FORMAT.md and lineage.h first, then
 * attempts.c, job_listing.c and snapshot_save.c.
 *
 * For the rest of storage/, through this header alone:
 *
 *	job_records.h		keys and records of a job, and their reading and writing
 *	storage_handle.h	struct storage: an open store and the job in it
 *
 * Of this folder only:
 *
 *	claim_cache.h		the claims that this process has read
 *	listed_claims.h		reads the claims of the attempts that are listed
 *	own_claim.h		whether the claim of this process still is in the store
 *	lineage.h		PURE: attempts and snapshots -> the chain to continue from
 *	entry_list.h		sends and loads the list of a snapshot's files
 *	listing.h		the files of a manifest
 *	pack_listing.h		lists packs, and holds a manifest against that
 *	pack_numbers.h		the table of packs of a manifest
 *	lineage_summary.h	PURE: what lineage needs of the old attempts, as one record
 *	attempt_compaction.h	puts summaries of old attempts and removes their records
 *	note_archive.h		puts the ledgers of old attempts together, and removes their notes
 *	snapshot_catalogue.h	PURE: what manifests say, without their entries
 *	pack_table.h		PURE: packs by number, each key once
 *	catalogue_cache.h	the catalogue of this process, and its copy in the store
 *	inventory.h		all snapshots of a job with their states, pins and packs
 *	retention.h		PURE: which snapshots are kept, which packs are garbage
 *	damage_marks.h		writes down which packs are damaged
 *	pin_place.h		of a pin and a removal, the first decides
 *	garbage_collect.h	removes unnamed packs
 *	store_clock.h		the time by the store's own clock
 *	carry_over.h		files of the parent that stay in a snapshot unread
 *	restore_content.h	fills the files of a restore
 *	index_warmup.h		fills the index of chunks while a save begins
 *	gang_parts.h		PURE: whether the parts of all members of a gang are there
 *	gang_commit.h		a member's part, and the commit of the snapshot of all
 *	lost_files.h		PURE: which other snapshot has a file that is lost
 *	whole_pack.h		PURE: checks a pack that was read as a whole
 *	orphan_packs.h		reuses packs of attempts killed before a commit
 *
 * The operations, declared in storage_*.h and used through storage.h:
 *
 *	attempts.c		claims an attempt, writes the end record
 *	superseded.c		whether a newer attempt has been claimed, or the store was emptied
 *	attempt_history.c	how the newest attempts of a job went
 *	attempt_notes.c		events, log and metrics of an attempt, for people
 *	drain_records.c		announces that a preempted attempt still saves; reads that
 *	gang_join.c		how the members of a gang find each other at their start
 *	task_barrier.c		lets the processes of one step wait for each other
 *	snapshot_save.c		saves and commits a snapshot
 *	snapshot_presave.c	sends closed or growing files before the checkpoint is complete
 *	snapshot_restore.c	restores a snapshot into an empty directory
 *	snapshot_verify.c	reads and checks every chunk
 *	snapshot_export.c	writes a snapshot as tar.lz4
 *	listing.c		lists snapshots and their files
 *	pins.c  forget.c	keep one snapshot; remove those that the policy does not keep
 */
#ifndef STORAGE_SNAPSHOTS_H
#define STORAGE_SNAPSHOTS_H

#include "index_warmup.h"
#include "job_records.h"

#endif
