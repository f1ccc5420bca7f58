/*
 * PUBLIC. Snapshots of a checkpoint directory in an object store: take, find, restore, verify, export.
 *
 * Map of this folder (FORMAT.md is the written form of what lies in the store):
 *
 *	storage.c           open and close: URL -> backend, format marker, names of jobs
 *	store.h             PRIVATE: what a backend does: put, get, list, remove. store_dir.c is file://; stores.c the table of schemes
 *	record.[ch]         PURE: the envelope of every small object: header with digest, JSON body
 *	record_store.[ch]   keys; records and manifests to and from the store; what a job consists of
 *	manifest.[ch]       PURE: encode, decode and check; a manifest that is there is a commit. manifest_entry.[ch]: one entry of it
 *	entry_path.[ch]     PURE: which names and link targets may be in a snapshot
 *	lineage.[ch]        PURE: attempts and snapshots -> the chain of good ones, newest first; late and abandoned ones told apart
 *	attempts.c          claims an attempt: reads the lineage, writes the claim if-absent
 *	chunk.[ch]          PURE: cut, compress where it gains, and back
 *	pack.[ch]           PURE: chunks -> one immutable object with an index at its end, and back
 *	index.[ch]          which chunk lies where: nothing is sent twice
 *	tree.[ch]           opens all of a directory and tells whether it changed; applies metadata. tree_walk.[ch]: libarchive's walk
 *	take.c              take and commit; reader.[ch] reads files on all threads, packer.[ch] fills and puts packs
 *	restore.c           get back; fetch.[ch] a chunk from its pack, checked; layout.[ch] the directory that it goes into
 *	verify.c  export.c  listing.c
 *
 * Everything here blocks, honours `cancel` (which may be NULL) and may be called from any thread; one `struct storage` is used by
 * one call at a time unless said otherwise. Work inside a call runs on all processors. Nothing logs.
 *
 * Order is the safety (restic's "Read and Write Ordering", and the conditional writes every store has): packs are written under
 * names that no one else uses and are durable before the manifest; writing the manifest if-absent is the commit; nothing is ever
 * changed afterwards. A crash at any instant leaves packs that no manifest names, and nothing else.
 */
#ifndef STORAGE_H
#define STORAGE_H

#include "base/cancel.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct storage;

/* Attempt and sequence both count from 1; 0.0 is "no snapshot". As text "000003-000012": it sorts by age within a job. */
struct snapshot_id {
	uint32_t attempt;
	uint32_t sequence;
};
#define SNAPSHOT_ID_TEXT 24

bool snapshot_id_is_none(struct snapshot_id id);
int snapshot_id_compare(
	struct snapshot_id a, struct snapshot_id b); /* <0, 0, >0: older, same, newer */
/* Returns `text`. */
const char *snapshot_id_format(struct snapshot_id id, char text[SNAPSHOT_ID_TEXT]);
/* Accepts "000003-000012" and "3-12". */
bool snapshot_id_parse(const char *text, struct snapshot_id *id);

/* --- opening --- */

struct storage_options {
	const char *url; /* file:///dir; other schemes: ERR_INVALID naming those that there are */
	const char *
		job; /* 1..128 bytes of [A-Za-z0-9._-], not starting with '.': ERR_INVALID otherwise */
	bool create; /* make the store if it is not there; without it a missing store is ERR_NOT_FOUND */
	bool read_only;   /* never write anything, not even the format marker */
	unsigned threads; /* 0: one per processor */
};

/* Opens, and with `create` proves by writing the format marker that the store is writable. ERR_INVALID: URL or job; ERR_NEWER:
 * written by a newer version; ERR_DENIED, ERR_NO_SPACE; ERR_NOT_FOUND. The sentence names the URL and what to do. */
int storage_open(const struct storage_options *options, struct storage **storage,
	struct cancel *cancel, struct err *err);
void storage_close(struct storage *storage); /* NULL is fine */

/* Names of the jobs that the store holds. The caller frees with storage_jobs_release. */
struct storage_jobs {
	size_t count;
	char **names; /* sorted */
};
int storage_jobs(
	const char *url, struct storage_jobs *jobs, struct cancel *cancel, struct err *err);
void storage_jobs_release(struct storage_jobs *jobs);

/* --- attempts: who continues from what --- */

enum restore_policy {
	RESTORE_LATEST,
	RESTORE_NONE,
	RESTORE_THIS
};

struct claim {
	enum restore_policy policy;
	struct snapshot_id
		this_one; /* for RESTORE_THIS: must exist and be sound, else ERR_NOT_FOUND or ERR_CORRUPT */
	json_t *about; /* kept in the record as "about": host, command, ...; borrowed; may be NULL */
};

/* What damage was passed over, in a sentence for the user. */
struct damage {
	struct snapshot_id id;
	char text[256];
};

struct attempt {
	uint32_t number;
	struct snapshot_id start; /* none: begin afresh */
	struct snapshot_id *
		chain; /* `start` and the older good ones behind it, newest first: what to fall back to */
	size_t chain_count;
	struct damage *damaged; /* newer ones that were passed over because of damage */
	size_t damaged_count;
	uint32_t predecessor;         /* the attempt before this one; 0 for the first */
	bool predecessor_ended;       /* it left an end record */
	char predecessor_outcome[32]; /* its end record's, "" without */
};

/*
 * Claims the next attempt number with if-absent, naming the snapshot that it starts from, which from then on fences every
 * older attempt: what those commit later is kept, listed as late and never chosen. Looks again after the claim and claims once
 * more if a commit slipped in between, so that a commit that was durable before the hand-over is never passed over.
 */
int storage_claim(struct storage *storage, const struct claim *claim, struct attempt *attempt,
	struct cancel *cancel, struct err *err);
void attempt_release(struct attempt *attempt);

/* Whether a later attempt than `number` has been claimed: *newest is that one's number, or `number` itself if there is none. */
int storage_superseded(struct storage *storage, uint32_t number, uint32_t *newest,
	struct cancel *cancel, struct err *err);

/* Leaves the end record of an attempt: `outcome` is a word ("finished", "preempted", "failed", ...), `about` more facts (borrowed,
 * may be NULL). Written once; a second call is ERR_EXISTS. */
int storage_end_attempt(struct storage *storage, uint32_t number, const char *outcome,
	json_t *about, struct cancel *cancel, struct err *err);

/* --- taking --- */

struct take_progress {
	uint64_t bytes_total; /* of all files in the snapshot */
	uint64_t bytes_done;
	uint64_t bytes_sent; /* written to the store so far, compressed */
};

struct take_request {
	struct snapshot_id
		id; /* attempt from storage_claim(), sequence chosen by the caller, rising */
	struct snapshot_id parent; /* what this one follows; none for the first */
	const char *directory;
	const char *
		reason; /* "notice", "request", "interval", "change", "exit": kept in the manifest */
	int64_t step;   /* -1: unknown */
	json_t *about;  /* kept as "about"; borrowed; may be NULL */

	/* Paths relative to `directory` that are not to be part of it. NULL: nothing is excluded. Called on the worker's thread. */
	bool (*exclude)(void *arg, const char *path);
	/* Called once, after every file has been opened: false means that what was opened is no longer one complete checkpoint;
	 * the take then ends with ERR_RETRY. NULL: always true. */
	bool (*frozen)(void *arg);
	/* From any thread, a few times a second at most. NULL: not wanted. */
	void (*progress)(void *arg, const struct take_progress *progress);
	void *arg;
};

struct take_result {
	uint32_t files;      /* regular files */
	uint64_t bytes;      /* their sizes added up */
	uint64_t bytes_sent; /* what was written to the store for it, manifest included */
	uint32_t chunks_sent;
	uint32_t chunks_kept; /* already there */
};

/*
 * Opens every file below `directory` first and reads from those descriptors, so that the trainer may delete or rename what it
 * likes meanwhile; a file of which only the ctime moved, or that somebody has open for writing, is read again to make sure. A file
 * that was written to since it was opened (size, mtime) belongs to another checkpoint: the take ends with ERR_RETRY, a mixture is
 * never committed. Before the commit it looks whether the attempt has been superseded:
 * then ERR_EXISTS ("attempt 4 has taken over"), and nothing is published. An empty directory (no regular file) is ERR_NOT_FOUND.
 * ERR_NO_SPACE, ERR_DENIED, ERR_CANCELLED as everywhere; whatever the error, what was committed before stands.
 */
int storage_take(struct storage *storage, const struct take_request *request,
	struct take_result *result, struct cancel *cancel, struct err *err);

/* --- finding --- */

enum snapshot_state {
	SNAPSHOT_GOOD,      /* on the chain: may be restored from by itself */
	SNAPSHOT_LATE,      /* committed by an attempt after another had taken over from it */
	SNAPSHOT_ABANDONED, /* the user restored an older one, and what came after it was left behind */
	SNAPSHOT_DAMAGED, /* manifest unreadable, or a pack missing or of the wrong size */
};
const char *snapshot_state_name(enum snapshot_state state);

struct snapshot_info {
	struct snapshot_id id;
	enum snapshot_state state;
	bool newest;      /* the one that the next attempt starts from */
	char damage[256]; /* for DAMAGED */
	char created[32]; /* RFC 3339; the clock of the machine that wrote it, for people only */
	char host[65];
	char reason[32];
	int64_t step; /* -1: unknown */
	struct snapshot_id parent;
	uint32_t files;
	uint64_t bytes;        /* of the files */
	uint64_t bytes_stored; /* in packs first written for this snapshot */
};

struct snapshot_list {
	struct snapshot_info *items; /* newest first */
	size_t count;
};

int storage_list(struct storage *storage, struct snapshot_list *list, struct cancel *cancel,
	struct err *err);
void snapshot_list_release(struct snapshot_list *list);

/* The manifest's body as JSON (see FORMAT.md): files, modes, sizes, chunks. The caller decrefs. */
int storage_show(struct storage *storage, struct snapshot_id id, json_t **body,
	struct cancel *cancel, struct err *err);

/* --- getting back --- */

struct restore_request {
	struct snapshot_id id;
	const char *
		directory; /* made if missing; must be empty: ERR_EXISTS otherwise. The caller renames it into place */
	const char *
		seed; /* a directory with an older or partial copy to take equal chunks from (verified); NULL: none */
	bool (*include)(void *arg, const char *path); /* NULL: everything */
	void (*progress)(
		void *arg, uint64_t bytes_done, uint64_t bytes_total); /* NULL: not wanted */
	void *arg;
};

struct restore_result {
	uint32_t files;
	uint64_t bytes;
	uint64_t bytes_fetched; /* read from the store */
	uint64_t bytes_seeded;  /* taken from `seed` */
	int64_t step;
};

/* Byte for byte what was saved, with modes, times, links, xattrs, holes; every chunk's digest is checked, and files are durable
 * (fsync) when it returns. ERR_CORRUPT names the damage; the directory then holds nothing that anyone should use. */
int storage_restore(struct storage *storage, const struct restore_request *request,
	struct restore_result *result, struct cancel *cancel, struct err *err);

/* Reads every chunk of a snapshot and checks it. `found` is called for each thing wrong with a sentence; returns 0 with the
 * count in *damages, -1 if it could not look. With `id` none: all snapshots of the job. */
int storage_verify(struct storage *storage, struct snapshot_id id,
	void (*found)(void *arg, struct snapshot_id id, const char *sentence), void *arg,
	uint32_t *snapshots, uint32_t *damages, struct cancel *cancel, struct err *err);

/* A standard tar.lz4 on a descriptor: `lz4 -dc | tar -x` reads it. */
int storage_export(struct storage *storage, struct snapshot_id id, int fd, struct cancel *cancel,
	struct err *err);

/* What a snapshot's files look like, to tell whether a local directory is the same. */
struct snapshot_file {
	char *path; /* relative */
	uint64_t size;
	int64_t mtime_ns;
};
struct snapshot_files {
	struct snapshot_file *items; /* sorted by path; regular files only */
	size_t count;
};
int storage_files(struct storage *storage, struct snapshot_id id, struct snapshot_files *files,
	struct cancel *cancel, struct err *err);
void snapshot_files_release(struct snapshot_files *files);

#endif
