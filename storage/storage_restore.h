/* PUBLIC, through storage.h. Which snapshots there are; getting them back, checking and exporting.
 */
#ifndef STORAGE_RESTORE_H
#define STORAGE_RESTORE_H

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "storage/format/snapshot_id.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct storage;

/* --- finding --- */

enum snapshot_state {
	/* On the chain: may be restored from by itself */
	SNAPSHOT_GOOD,
	/* A newer attempt has begun without it: it was committed after that, or was damaged then.
	 * The records do not tell which. */
	SNAPSHOT_FENCED,
	/* The user restored an older one, and what came after it was left behind */
	SNAPSHOT_SUPERSEDED_BY_RESTORE,
	/* The job died of it again and again: a later attempt took the one before it */
	SNAPSHOT_SUSPECT,
	/* Manifest unreadable, or a pack missing or of the wrong size */
	SNAPSHOT_DAMAGED,
};

struct snapshot_info {
	struct snapshot_id id;
	enum snapshot_state state;
	/* A sentence for SNAPSHOT_DAMAGED. */
	char damage[256];
	/* SNAPSHOT_DAMAGED only in that a newer version wrote it. */
	bool newer;
	/* The one that the next attempt starts from. */
	bool newest;
	/* The newest attempt started from it, or one of the newest that has left no end record. */
	bool started_from;
	bool pinned;

	struct snapshot_id parent;
	/* RFC 3339; the clock of the machine that wrote it, for people only. */
	char created[32];
	char host[65];
	char reason[32];
	/* -1: unknown. */
	int64_t step;
	/* "tag" in its "about"; "" without. */
	char tag[65];

	/* Of a gang: how many members, and how many of them have no checkpoint in it. 0: one
	 * machine. */
	uint32_t members, members_without;
	/* Regular files, and their sizes added up. */
	uint32_t files;
	uint64_t bytes;
	/* In packs first written for this snapshot. */
	uint64_t bytes_stored;
	/* In packs that no other snapshot names: what forgetting it would free. */
	uint64_t bytes_alone;
};

/* "good", "late", "superseded", "suspect", "damaged", or "newer" for what a newer version wrote. */
const char *snapshot_state_name(const struct snapshot_info *info);

struct snapshot_list {
	/* Newest first. */
	struct snapshot_info *items;
	size_t count;
};

/* All snapshots of the job; a damaged one is in the list and no error. */
int storage_list_snapshots(struct storage *storage, struct snapshot_list *list,
			   struct cancel *cancel, struct err *err);
void snapshot_list_release(struct snapshot_list *list);
AUTO(struct snapshot_list, snapshot_list_release);

/* It certainly is not there, or no more: retention has removed it. */
bool storage_is_forgotten(struct storage *storage, struct snapshot_id id, struct cancel *cancel);

/* What the packs of the job take up in the store, whoever names them. */
int storage_size(struct storage *storage, uint64_t *bytes, struct cancel *cancel, struct err *err);

/* The manifest's body as JSON (see FORMAT.md): files, modes, sizes, chunks; `entries` also where
 * the store has them in pieces. The caller decrefs. */
int storage_read_manifest(struct storage *storage, struct snapshot_id id, json_t **body,
			  struct cancel *cancel, struct err *err);

struct snapshot_file {
	/* Relative to the directory. */
	char *path;
	uint64_t size;
	int64_t mtime_ns;
	/* Of a file on this machine; 0: unknown. */
	int64_t ctime_ns;
	uint64_t inode;
	/* When it was made; 0: unknown. */
	int64_t born_ns;
	/* In the snapshot, a running file (save_request.running). */
	bool running;
};
struct snapshot_files {
	/* Sorted by path; regular files only. */
	struct snapshot_file *items;
	size_t count;
};
/* What storage_save() was given as `about`, by this machine, or this member of a gang; the caller
 * owns it. NULL with an error, or with err->kind 0 if there is nothing: also where the files of
 * others are restored and it has none in it. *step: the snapshot's; -1: unknown. */
json_t *storage_read_about(struct storage *storage, struct snapshot_id id, int64_t *step,
			   struct cancel *cancel, struct err *err);
/* What a snapshot's files look like, to tell whether a local directory is the same. */
int storage_list_files(struct storage *storage, struct snapshot_id id, struct snapshot_files *files,
		       struct cancel *cancel, struct err *err);
void snapshot_files_release(struct snapshot_files *files);
AUTO(struct snapshot_files, snapshot_files_release);

/* --- restoring --- */

struct restore_request {
	struct snapshot_id id;
	/* Made if missing; must be empty: ERR_EXISTS otherwise. The caller renames it into place.
	 */
	const char *directory;
	/* The directory, held open, that `directory` is a name in; 0: `directory` is a path. */
	int within;
	/* A directory, held open, with an older or partial copy to take equal chunks from, which
	 * are checked; 0: none. */
	int seed;
	/* Files of the seed that have the same content become files of `directory`, under a second
	 * name: nobody may write to them until the seed's names are removed. */
	bool link_seed;
	/* Do not wait until the disk has it: after a crash it is restored again. */
	bool unsynced;
	/* NULL: everything. */
	bool (*include)(void *arg, const char *path);
	/* NULL, or filled as by storage_list_files(), which would read the list once more. */
	struct snapshot_files *files;
	/* From any thread. NULL: not wanted. */
	void (*progress)(void *arg, uint64_t bytes_done, uint64_t bytes_total);
	void *arg;
};

struct restore_result {
	uint32_t files;
	uint64_t bytes;
	/* Read from the store, and taken from `seed`. */
	uint64_t bytes_fetched;
	uint64_t bytes_seeded;
	/* -1: unknown. */
	int64_t step;
	/* Of a gang, if the parts of several members are restored: names that have different
	 * content in them. The first of them, whose is restored, and whose is not. */
	uint32_t clashes, clash_kept, clash_left;
	char clash_path[512];
};

/*
 * Restores byte for byte what was saved, with modes, times, links, xattrs, holes; every chunk's
 * digest is checked, and files are durable (syncfs) when it returns, unless `unsynced`. ERR_CORRUPT
 * names the damage; the directory then holds nothing that anyone should use.
 */
int storage_restore(struct storage *storage, const struct restore_request *request,
		    struct restore_result *result, struct cancel *cancel, struct err *err);

/* --- verifying and exporting --- */

/* Called now and then by storage_verify() and storage_export(), from any thread; NULL: no more. */
void storage_set_progress(struct storage *storage,
			  void (*progress)(void *arg, uint64_t bytes_done, uint64_t bytes_total),
			  void *arg);

struct verify_request {
	/* None: all snapshots of the job. */
	struct snapshot_id id;
	/* Of the packs, chosen anew each time, at least one; 0: all. */
	unsigned sample_percent;
	/* Sets the packs aside that are damaged, so that the next save sends anew what was in them,
	 * and puts back what was set aside and is whole. */
	bool repair;
	/* For each thing that is wrong, with a sentence; from any thread, one at a time. */
	void (*found)(void *arg, struct snapshot_id id, const char *sentence);
	/* With `id`: afterwards, for each file that cannot be had. NULL: not wanted. */
	void (*lost)(void *arg, const char *path);
	void *arg;
};

struct verify_result {
	uint32_t snapshots, damages;
	uint32_t packs, packs_read;
	/* Snapshots whose record (the manifest) is damaged itself; in `damages` as well. */
	uint32_t unreadable;
	/* By `repair`: packs that were set aside, and put back. */
	uint32_t set_aside, put_back;
	/* Without `repair`: packs that it would set aside. */
	uint32_t to_repair;
};

/* Reads every byte of every pack that the snapshots name, and checks it. Returns 0 also if there is
 * damage, -1 if it could not look. What is forgotten meanwhile is not damaged, and does not count;
 * ERR_NOT_FOUND if it is that of the request, ERR_RETRY if it is each time all that there is. */
int storage_verify(struct storage *storage, const struct verify_request *request,
		   struct verify_result *result, struct cancel *cancel, struct err *err);

/* A standard tar.lz4 on a descriptor: `lz4 -dc | tar -x` reads it. *wrote: after a failure: a part
 * of it is there. */
int storage_export(struct storage *storage, struct snapshot_id id, int fd, bool *wrote,
		   struct cancel *cancel, struct err *err);

#endif
