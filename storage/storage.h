/*
 * PUBLIC. Snapshots of a checkpoint directory in an object store: take, find, restore, verify,
 * export.
 *
 * Map of this folder (FORMAT.md is the written form of what lies in the store):
 *
 *	storage.c           open and close: URL -> backend, format marker, names of jobs
 *	object_store.h             PRIVATE: what a backend does: put, get, list, remove.
 *	                           file_store.c is file://; stores.c the table of schemes
 *	record.[ch]         PURE: the envelope of every small object: header with digest, JSON body
 *	record_store.[ch]   keys; records and manifests to and from the store; what a job consists
 *	                    of
 *	drain_records.c          what an attempt that is being preempted says to the next one
 *	attempt_notes.c             what is kept of an attempt for people
 *	task_barrier.c              processes that end together, one of which waits for the others
 *	manifest.[ch]       PURE: encode, decode and check; a manifest that is there is a commit.
 *	                    manifest_entry.[ch]: one entry of it
 *	entry_path.[ch]     PURE: which names and link targets may be in a snapshot
 *	lineage.[ch]        PURE: attempts and snapshots -> the chain of good ones, newest first;
 *	                    late and superseded ones told apart
 *	attempts.c          claims an attempt: reads the lineage, writes the claim if-absent.
 *	                    attempt_history.c: how earlier ones went
 *	chunk.[ch]          PURE: cut, compress where it gains, and back
 *	pack.[ch]           PURE: chunks -> one immutable object with an index at its end, and back
 *	index.[ch]          which chunk lies where: nothing is sent twice
 *	tree.[ch]           opens all of a directory and tells whether it changed; applies metadata.
 *	                    file_tree_walk.[ch]: libarchive's walk
 *	snapshot_save.c              take and commit; reader.[ch] reads files on all threads,
 *	                             packer.[ch] fills and puts packs
 *	snapshot_restore.c           get back; fetch.[ch] a chunk from its pack, checked;
 *	                             layout.[ch] the directory that it goes into
 *	snapshot_verify.c  snapshot_export.c  listing.c
 *	warm.[ch] leftovers.[ch]  fill the index with what was there before; snapshot_presave.c
 *	                          sends files before the checkpoint is complete, growth PURE: how
 *	                          far
 *	transfer.[ch]       PURE: how much is done at once, in how much memory. hedge, rate, span:
 *	                    PURE: what is late, a limit, one request
 *	crew.[ch]           threads at low priority until there is hurry; uploader.[ch] packs on
 *	                    their way
 *	survey.[ch]         all that a job consists of, at once; retention.[ch] PURE: what is kept,
 *	                    and why
 *	pins.c forget.c sweep.[ch] object_import.c
 *	s3_store.c          s3_bucket.[ch] a signed call; s3_address, s3_list, s3_reply, sigv4:
 *	                    PURE; aws_*.[ch] the credentials chain
 *	gcs_store.c         gcs_address, gcs_reply: PURE; google_*.[ch] and jwt.[ch] the credentials
 *	azure_store.c       azure_container.[ch] an authorized call; azure_account,
 *	                    azure_shared_key_sign, azure_reply: PURE; azure_credentials.[ch] the
 *	                    tokens
 *	remote.[ch]         what the HTTP stores share: connections, the try loop; bearer.[ch] and
 *	                    token_endpoint.[ch] tokens
 *	blob_listing, pages, ranged, retry, uri, error_body, crc32c, timestamp: PURE, of the HTTP
 *	stores too; xml.[ch] expat
 *
 * Everything here blocks, honours `cancel` (which may be NULL) and may be called from any thread;
 * one `struct storage` is used by one call at a time unless said otherwise. Work inside a call runs
 * on all processors. Nothing logs.
 *
 * Order is the safety (restic's "Read and Write Ordering", and the conditional writes every store
 * has): packs are written under names that no one else uses and are durable before the manifest;
 * writing the manifest if-absent is the commit; nothing is ever changed afterwards. A crash at any
 * instant leaves packs that no manifest names, and nothing else.
 */
#ifndef STORAGE_H
#define STORAGE_H

#include "base/cancel.h"
#include "base/err.h"
#include "base/text.h"
#include "storage/format/snapshot_id.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct storage;

/* --- opening --- */

/* How content is moved. All zero: what suits the store. */
struct storage_transfer {
	/* At once; 0: 8 up and 16 down, for file:// one per processor. */
	unsigned connections;
	/* For buffers; 0: 256 MiB. */
	uint64_t memory_bytes;
	/* Up; 0: no limit. Not kept to after storage_set_urgent(). */
	uint64_t bandwidth_bytes_per_second;
};

struct storage_options {
	/* file:///dir; other schemes: ERR_INVALID naming those that there are */
	const char *url;
	/* 1..128 bytes of [A-Za-z0-9._-], not starting with '.': ERR_INVALID otherwise */
	const char *job;
	/* make the store if it is not there; without it a missing store is ERR_NOT_FOUND */
	bool create;
	/* never write anything, not even the format marker */
	bool read_only;
	/* 0: one per processor */
	unsigned threads;

	struct storage_transfer transfer;
	/* beside a job: low CPU and IO priority for sending, until storage_set_urgent() */
	bool background;
};

/*
 * Opens, and with `create` proves by writing the format marker that the store is writable.
 * ERR_INVALID: URL or job; ERR_VERSION: written by a newer version; ERR_DENIED, ERR_NO_SPACE;
 * ERR_NOT_FOUND. The sentence names the URL and what to do.
 */
int storage_open(const struct storage_options *options, struct storage **storage,
		 struct cancel *cancel, struct err *err);
/* NULL is fine; gives up what a presend has left under way */
void storage_close(struct storage *storage);

/* Where requests go and which source the credentials come from, for a person and without secrets;
 * "" for file://. Returns `text`. */
const char *storage_describe(struct storage *storage, char *text, size_t capacity);

/* Where a file:// store lies: absolute, links resolved as far as it is there already. NULL for any
 * other. The caller frees. */
char *storage_directory(const char *url);
/* PURE. A name that stands for the store's own content just below its URL: nothing
 * else may lie there. */
bool storage_is_reserved_name(const char *name);

/*
 * There is a deadline now: what is being sent, and will be, gets normal priority and all the
 * bandwidth. Any thread, at any time, also while another call uses the storage.
 * storage_clear_urgent() takes it back (the notice was withdrawn).
 */
void storage_set_urgent(struct storage *storage);
void storage_clear_urgent(struct storage *storage);

/* Names of the jobs that the store holds. The caller frees with storage_job_names_release. */
struct storage_job_names {
	size_t count;
	char **names; /* sorted */
};
int storage_list_jobs(const char *url, struct storage_job_names *jobs, struct cancel *cancel,
		      struct err *err);
void storage_job_names_release(struct storage_job_names *jobs);

/* --- attempts: who continues from what --- */

enum restore_policy {
	RESTORE_LATEST,
	RESTORE_NONE,
	RESTORE_SPECIFIC
};

struct claim {
	enum restore_policy policy;
	/* for RESTORE_SPECIFIC: must exist and be sound, else ERR_NOT_FOUND or ERR_CORRUPT */
	struct snapshot_id this_one;
	/* Under RESTORE_LATEST: not from this one, if it would be chosen, but from the sound one
	 * behind it, if there is any. */
	struct snapshot_id avoid;
	/* kept in the record as "about": host, command, ...; borrowed; may be NULL */
	json_t *about;
};

/* What damage was passed over, in a sentence for the user. */
struct damaged_snapshot {
	struct snapshot_id id;
	char text[256];
};

struct attempt {
	uint32_t number;
	struct snapshot_id start;   /* none: begin afresh */
	struct snapshot_id suspect; /* what claim.avoid has kept it from; none: nothing */
	/* `start` and the older good ones behind it, newest first: what to fall back to */
	struct snapshot_id *chain;
	size_t chain_count;
	struct damaged_snapshot *damaged; /* newer ones that were passed over because of damage */
	size_t damaged_count;
};

/*
 * Claims the next attempt number with if-absent, naming the snapshot that it starts from, which
 * from then on fences every older attempt: what those commit later is kept, listed as late and
 * never chosen. Looks again after the claim and claims once more if a commit slipped in between, so
 * that a commit that was durable before the hand-over is never passed over.
 */
int storage_claim(struct storage *storage, const struct claim *claim, struct attempt *attempt,
		  struct cancel *cancel, struct err *err);
void attempt_release(struct attempt *attempt);

/* Whether a later attempt than `number` has been claimed: *newest is that one's number, or `number`
 * itself if there is none. */
int storage_superseded(struct storage *storage, uint32_t number, uint32_t *newest,
		       struct cancel *cancel, struct err *err);

/* Leaves the end record of an attempt: `outcome` is a word ("finished", "preempted", "failed",
 * ...), `about` more facts (borrowed, may be NULL). Written once; a second call is ERR_EXISTS. */
int storage_end_attempt(struct storage *storage, uint32_t number, const char *outcome,
			json_t *about, struct cancel *cancel, struct err *err);

/*
 * An attempt that is being preempted says for how long it may still commit, since the next one's
 * claim would end that. `word` counts from 1, the newest counts; `left_ms` below 0: it is not
 * preempted after all. May be called while another thread uses the storage.
 */
int storage_announce_drain(struct storage *storage, uint32_t attempt, uint32_t announcement,
			   int64_t left_ms, struct cancel *cancel, struct err *err);

/* The newest attempt, where it has said so. */
struct drain_state {
	uint32_t attempt; /* 0: nobody is to be waited for */
	uint32_t announcement;
	bool ended;      /* it left an end record: it is through, whatever it said */
	int64_t left_ms; /* that it had when it said so; below 0: it has taken it back */
	/* how old that was when it was first read, by the store's clock; 0 where
	 * that does not tell */
	int64_t age_ms;
	char host[65];
};
/* Called again with what it has filled in (zeroed at first), it reads only what is new. */
int storage_poll_drain(struct storage *storage, struct drain_state *draining, struct cancel *cancel,
		       struct err *err);

/*
 * Notes of an attempt, for people and for reports; nothing that decides anything reads them. `kind`
 * is a word of letters: "ledger", "log", "metrics". A kind is kept in parts, whose numbers the
 * attempt gives, from 1 on, each once. Both block; both may be called while another thread uses the
 * storage.
 */
int storage_put_note(struct storage *storage, uint32_t attempt, const char *kind, unsigned part,
		     const void *data, size_t size, struct cancel *cancel, struct err *err);
/* Appends all parts in their order; none is no error. */
int storage_get_notes(struct storage *storage, uint32_t attempt, const char *kind,
		      struct bytes *out, struct cancel *cancel, struct err *err);

/*
 * A roll of processes that end together, and of which one waits for the others: names below tmp/,
 * which nobody misses later. `roll` and `name` are of [A-Za-z0-9.-]. Signing twice is fine. Both
 * block.
 */
int storage_barrier_arrive(struct storage *storage, const char *barrier, const char *name,
			   struct cancel *cancel, struct err *err);

struct storage_barrier_arrivals {
	char **names;
	size_t count;
};
/* Who has signed; nobody is no error. The caller releases it. */
int storage_barrier_read(struct storage *storage, const char *barrier,
			 struct storage_barrier_arrivals *arrivals, struct cancel *cancel,
			 struct err *err);
void storage_barrier_release(struct storage_barrier_arrivals *barrier);

/* How an attempt went, as far as its records say. */
struct attempt_summary {
	uint32_t number;
	uint32_t snapshots; /* that it has committed, and that are still there */
	struct snapshot_id start, suspect;
	bool known;       /* its claim could be read: else start, suspect and about say nothing */
	bool ended;       /* it left an end record that could be read */
	char outcome[32]; /* of that; "" without */
	char created[32], ended_at[32]; /* RFC 3339, the clock of its machine; "" unknown */
	json_t *about, *end_about;      /* NULL where there is no record */
};
struct attempt_history {
	struct attempt_summary *items; /* newest first */
	size_t count;
};

/* The newest attempts, `most` at most. What is damaged or was removed is unknown and no error;
 * ERR_VERSION as everywhere. */
int storage_history(struct storage *storage, size_t most, struct attempt_history *history,
		    struct cancel *cancel, struct err *err);
void attempt_history_release(struct attempt_history *history);

/* --- taking --- */

struct save_progress {
	/* of all files in the snapshot */
	uint64_t bytes_total;
	uint64_t bytes_done;
	/* written to the store so far, compressed; storage_presave() counts in */
	uint64_t bytes_sent;
};

struct save_request {
	/* attempt from storage_claim(), sequence chosen by the caller, rising */
	struct snapshot_id id;
	/* what this one follows; none for the first */
	struct snapshot_id parent;
	const char *directory;
	/* "notice", "request", "interval", "change", "exit": kept in the manifest */
	const char *reason;
	/* -1: unknown */
	int64_t step;
	/* kept as "about"; borrowed; may be NULL */
	json_t *about;

	/* Paths relative to `directory` that are not to be part of it. NULL: nothing is excluded.
	 * Called on the worker's thread. */
	bool (*exclude)(void *arg, const char *path);
	/* Called once, after every file has been opened: false means that what was opened is no
	 * longer one complete checkpoint; the take then ends with ERR_RETRY. NULL: always true. */
	bool (*frozen)(void *arg);
	/* From any thread, a few times a second at most. NULL: not wanted. */
	void (*progress)(void *arg, const struct save_progress *progress);
	void *arg;
};

struct save_result {
	uint32_t files; /* regular files */
	uint64_t bytes; /* their sizes added up */
	/* what was written to the store for it, manifest included, and before it by
	 * storage_presave() */
	uint64_t bytes_sent;
	uint64_t bytes_sent_before; /* of these: when the call began it was there already */
	uint32_t chunks_sent;
	uint32_t chunks_kept; /* already there */
	uint32_t left_out;    /* what is neither file nor directory nor a link that stays inside */
	char left_out_path[512];   /* the first of these by name, */
	const char *left_out_what; /* and what it is: "a socket"; static, NULL: none */
};

/*
 * Opens every file below `directory` first and reads from those descriptors, so that the trainer
 * may delete or rename what it likes meanwhile; a file of which only the ctime moved, or that
 * somebody has open for writing, is read again to make sure. A file that was written to since it
 * was opened (size, mtime) belongs to another checkpoint: the take ends with ERR_RETRY, a mixture
 * is never committed. Before the commit it looks whether the attempt has been superseded:
 * then ERR_EXISTS ("attempt 4 has taken over"), and nothing is published. An empty directory (no
 * regular file) is ERR_NOT_FOUND. ERR_NO_SPACE, ERR_DENIED, ERR_CANCELLED as everywhere; whatever
 * the error, what was committed before stands.
 */
int storage_save(struct storage *storage, const struct save_request *request,
		 struct save_result *result, struct cancel *cancel, struct err *err);

/* Whether a take of this directory can begin: every file of it opens, and there is one (else
 * ERR_NOT_FOUND). Needs no store. */
int storage_check_directory(const char *directory, struct cancel *cancel, struct err *err);

/* --- sending ahead --- */

struct presave_request {
	/* of the take that is to come: packs are named after it */
	struct snapshot_id id;
	/* as for storage_save() */
	struct snapshot_id parent;
	const char *directory;
	/* relative to it: files that are closed. Those that are not there are passed over */
	const char *const *paths;
	size_t path_count;
	/*
	 * They are still being written: what has come since the last time is sent, some 32 MiB of a
	 * file at least, or nothing. It only counts as far as the take finds the same bytes, so a
	 * file that is not written in order costs time and nothing else.
	 */
	bool growing;
	/* NULL, or: true ends it early, with what has been read handed over. From
	 * any thread, often. */
	bool (*enough)(void *arg);
	void *arg;
};

struct presave_result {
	uint32_t files; /* read to their ends, and unchanged since */
	uint64_t bytes;
	uint32_t chunks_sent, chunks_kept;
};

/*
 * Reads and sends files that are complete for themselves, while the checkpoint as a whole is still
 * being written. Nothing is committed; the storage remembers, so that the next storage_save() of
 * this process sends the rest: a file that was not touched since is not even read again, and one
 * that was simply does not match. Returns when everything is read; what is still on its way goes on
 * by itself, and that take waits for it. If no take follows, packs are left that no manifest names.
 * ERR_RETRY: a file went away under it. Any failure costs nothing but time: the take then sends it
 * all. Cancelling gives up what is under way; `enough` does not.
 */
int storage_presave(struct storage *storage, const struct presave_request *request,
		    struct presave_result *result, struct cancel *cancel, struct err *err);

/* --- finding --- */

enum snapshot_state {
	/* on the chain: may be restored from by itself */
	SNAPSHOT_GOOD,
	/* committed by an attempt after another had taken over from it */
	SNAPSHOT_FENCED,
	/* the user restored an older one, and what came after it was left behind */
	SNAPSHOT_SUPERSEDED_BY_RESTORE,
	/* the job died of it again and again: a later attempt took the one before it */
	SNAPSHOT_SUSPECT,
	/* manifest unreadable, or a pack missing or of the wrong size */
	SNAPSHOT_DAMAGED,
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
	/* in packs that no other snapshot names: what forgetting it would free */
	uint64_t bytes_alone;
	char tag[65]; /* "tag" in its "about"; "" without */
	bool pinned;
	bool started_from; /* by the newest attempt, or by one that has left no end record */
	bool newer;        /* DAMAGED only in that a newer version wrote it */
};

struct snapshot_list {
	struct snapshot_info *items; /* newest first */
	size_t count;
};

int storage_list_snapshots(struct storage *storage, struct snapshot_list *list,
			   struct cancel *cancel, struct err *err);
void snapshot_list_release(struct snapshot_list *list);

/* What the packs of the job take up, whoever names them. */
int storage_size(struct storage *storage, uint64_t *bytes, struct cancel *cancel, struct err *err);

/* Called now and then by storage_verify() and storage_export(), from any thread; NULL: no more. */
void storage_set_progress(struct storage *storage,
			  void (*progress)(void *arg, uint64_t bytes_done, uint64_t bytes_total),
			  void *arg);

/* The manifest's body as JSON (see FORMAT.md): files, modes, sizes, chunks. The caller decrefs. */
int storage_read_manifest(struct storage *storage, struct snapshot_id id, json_t **body,
			  struct cancel *cancel, struct err *err);

/* --- getting back --- */

struct restore_request {
	struct snapshot_id id;
	/* made if missing; must be empty: ERR_EXISTS otherwise. The caller renames it into place */
	const char *directory;
	/* a directory with an older or partial copy to take equal chunks from
	 * (verified); NULL: none */
	const char *seed;
	/* NULL: everything */
	bool (*include)(void *arg, const char *path);
	/* NULL: not wanted */
	void (*progress)(void *arg, uint64_t bytes_done, uint64_t bytes_total);
	void *arg;
};

struct restore_result {
	uint32_t files;
	uint64_t bytes;
	uint64_t bytes_fetched; /* read from the store */
	uint64_t bytes_seeded;  /* taken from `seed` */
	int64_t step;
};

/*
 * Byte for byte what was saved, with modes, times, links, xattrs, holes; every chunk's digest is
 * checked, and files are durable (fsync) when it returns. ERR_CORRUPT names the damage; the
 * directory then holds nothing that anyone should use.
 */
int storage_restore(struct storage *storage, const struct restore_request *request,
		    struct restore_result *result, struct cancel *cancel, struct err *err);

/*
 * Reads every chunk of a snapshot and checks it. `found` is called for each thing wrong with a
 * sentence; returns 0 with the count in *damages, -1 if it could not look. With `id` none: all
 * snapshots of the job.
 */
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
int storage_list_files(struct storage *storage, struct snapshot_id id, struct snapshot_files *files,
		       struct cancel *cancel, struct err *err);
void snapshot_files_release(struct snapshot_files *files);

/* --- keeping and forgetting --- */

/* What keeps a snapshot; the reasons for one are a set of bits, 1u << reason.
 * None: it may be forgotten. */
enum keep_reason {
	KEEP_NEWEST, /* the newest good one. These first five hold whatever the policy says */
	KEEP_NEWER,  /* newer than that, or there is no good one at all */
	KEEP_START,  /* the newest attempt started from it, or one that has left no end record */
	KEEP_PINNED,
	KEEP_UNKNOWN, /* a newer version wrote it */
	KEEP_LAST,
	KEEP_WITHIN,
	KEEP_EVERY,
	KEEP_TAG,
	KEEP_REASONS
};
const char *keep_reason_name(enum keep_reason reason); /* "newest", "last", ... */

/* A snapshot is kept if any rule keeps it. A policy without a rule keeps nothing
 * but what is always kept. */
struct forget_policy {
	/* so many good ones, the newest, and as many superseded ones; 0: no such rule */
	uint32_t keep_last;
	/* no older than that, seen from the newest one or from now, whatever is earlier; 0 */
	int64_t keep_within_ms;
	/* the first good one of every so many steps; 0 */
	int64_t keep_every;
	/* borrowed */
	const char *const *keep_tags;
	size_t keep_tag_count;
};

#define GARBAGE_AGE_MS (24LL * 3600 * 1000)

struct garbage_result {
	uint32_t packs_removed; /* with `dry_run`: would be */
	uint64_t bytes_removed;
	/* no snapshot names them, but they are too young, or a snapshot under way
	 * may rely on them */
	uint32_t packs_deferred;
	uint64_t bytes_deferred;
};

struct forget_request {
	struct forget_policy policy;
	bool dry_run;
	/* younger packs stay; 0: GARBAGE_AGE_MS. Not below the longest upload */
	int64_t garbage_age_ms;
	/* Called for each snapshot, newest first, before anything is removed. May be NULL. */
	void (*decided)(void *arg, const struct snapshot_info *info, unsigned reasons);
	void *arg;
};

struct forget_result {
	uint32_t kept, forgotten;
	uint64_t bytes_before; /* in all packs of the job */
	struct garbage_result collected;
};

/*
 * Forgets what the policy does not keep, then sweeps. Manifests go first, oldest first, and packs
 * later, so that a crash at any instant leaves whole snapshots and packs that nobody names. Looks
 * again at claims and pins just before it removes. Whatever it returns, what is kept is whole.
 * ERR_RETRY: attempts come and go faster than it can look.
 */
int storage_forget(struct storage *storage, const struct forget_request *request,
		   struct forget_result *result, struct cancel *cancel, struct err *err);

/* A pinned snapshot is kept whatever the policy says. ERR_NOT_FOUND: there is no such snapshot, or
 * it was not pinned. To pin twice is fine. */
int storage_pin(struct storage *storage, struct snapshot_id id, struct cancel *cancel,
		struct err *err);
int storage_unpin(struct storage *storage, struct snapshot_id id, struct cancel *cancel,
		  struct err *err);

/* --- bringing in what others have written --- */

struct import_result {
	uint32_t files;
	uint64_t bytes;
	/* devices, links that lead out, and what else has no place in a snapshot */
	uint32_t left_out;
};

/*
 * Unpacks a tar, compressed by whatever libarchive reads, into an empty directory. Nothing is ever
 * written outside of it. ERR_CORRUPT: no archive, damaged, cut short, or with names that lead out.
 */
int storage_import_archive(int fd, const char *directory, struct import_result *result,
			   struct cancel *cancel, struct err *err);

/* Copies the objects below a URL, as plain files, into an empty directory.
 * ERR_NOT_FOUND: there is none. */
int storage_import_objects(const char *url, const char *directory,
			   void (*progress)(void *arg, uint64_t bytes_done, uint64_t bytes_total),
			   void *arg, struct import_result *result, struct cancel *cancel,
			   struct err *err);

/* --- looking at the store itself --- */

enum probe_step {
	PROBE_OPEN,
	PROBE_PUT,
	PROBE_GET,
	PROBE_IF_ABSENT, /* the first of two puts works, the second is refused */
	PROBE_LIST,
	PROBE_REMOVE,
	PROBE_UPLOAD, /* measured, like the next */
	PROBE_DOWNLOAD,
	PROBE_STEPS
};

struct probe_result {
	bool tried;
	bool worked;
	struct err err; /* where not */
	int64_t took_ms;
};

struct store_probe {
	struct probe_result steps[PROBE_STEPS];
	char description[512]; /* where requests go and with whose credentials; "" unknown */
	bool made; /* the directory was not there: it was made for this, and is gone again */
	bool if_absent_guessed; /* works only by looking first */
	bool skew_known;
	int64_t skew_ms;  /* the server's clock minus ours */
	bool dated;       /* listings say when an object was put: needed for sweeping */
	uint64_t bytes;   /* that were sent, and read back, to measure */
	unsigned at_once; /* on so many connections */
};

/* Tries one thing after the other with objects of its own below tmp/, and removes them. `bytes` 0:
 * nothing is measured. -1 only for ERR_CANCELLED; what does not work is in the answers. */
int storage_probe(const char *url, uint64_t bytes, struct store_probe *probe, struct cancel *cancel,
		  struct err *err);

#endif
