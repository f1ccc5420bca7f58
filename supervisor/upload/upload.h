/*
 * supervisor/upload/: what happens after a checkpoint is complete: one snapshot at a time goes to
 * the store, by storage_save(). All of it lives on the loop; the work runs on one worker thread, so
 * that the storage is used by one call at a time.
 *
 * For other folders, through this header alone; read snapshot_queue.c first:
 *
 *	snapshot_queue.c	uploads complete checkpoints: one runs, at most one waits; of a
 *				gang, each is a part in a round
 *	retention_worker.c	applies the --keep-* rules after a commit
 *
 * Of this folder only:
 *
 *	snapshot_run.h		one snapshot: which files belong to it, and what a pointer may name
 *	early_upload.c		uploads large files while their checkpoint is being written
 *	database_copies.c	stands copies in for the SQLite databases among the files of a
 *				snapshot, which may be in use
 */
#ifndef UPLOAD_H
#define UPLOAD_H

#include "base/cancel.h"
#include "base/loop.h"
#include "base/workers.h"
#include "completion/completion.h"
#include "core/core.h"
#include "frameworks/frameworks.h"
#include "storage/storage.h"
#include "workspace/workspace.h"

#include <stdbool.h>
#include <stdint.h>

/* --- snapshot_queue.c --- */

/*
 * Uploads complete checkpoints as snapshots. One runs and at most one waits, which is the newest
 * one submitted: an older one that still waits is replaced. Lives on the loop; the work runs on a
 * worker thread, so nothing here blocks.
 */

struct snapshot_queue;

/* A round of a gang in which this member gives its part. */
struct snapshot_round {
	/* Of the snapshot; 0: there is no gang. */
	uint32_t number;
	/* The checkpoint that the members save. */
	uint64_t generation;
	/* No checkpoint: only what lies beside those of others, if there is anything. */
	bool beside;
	/* Each member gives its directory as it is: see struct save_request. */
	bool final;
	/* Not the newest checkpoint, but that of `step`, which all members have; when it was
	 * complete, in ms of CLOCK_MONOTONIC. */
	bool older;
	int64_t step, written_ms;
};

struct snapshot_outcome {
	bool durable;
	struct err err; /* if it is not durable */
	struct checkpoint checkpoint;
	struct snapshot_id id;
	struct save_result result;
	uint64_t running_generation; /* of the running files, as of the plan */
	bool lacks_newest; /* the checkpoint had to be left out: it is not durable by it */
	struct snapshot_round round;
	bool unasked;   /* no checkpoint was waiting for that round: snapshot_queue_take_round() */
	bool not_whole; /* of a gang: this member's part is not complete yet; nothing has failed */
	bool never;     /* the round cannot have a part of this member, or no commit */
	/* for each of the user's --exclude and --running patterns that matched: the first path */
	char **matched;  /* "--exclude wandb: wandb/run-1.log"; NULL-terminated, owned */
	int64_t took_ms; /* from the start of the upload to the commit */
};

struct snapshot_queue_options {
	struct loop *loop;
	struct workers *workers; /* with one thread: the storage allows one call at a time */
	struct storage *storage;
	uint32_t attempt;
	struct snapshot_id parent;
	struct workspace *workspace;
	const char *job;
	/* Of one machine of several: each snapshot waits for its round, whose number it gets. */
	bool of_gang;
	/* Another member has the same directory, and saves it: this one gives no files. If it is
	 * this one: `sharers` are the others, of all members in their order; borrowed; NULL:
	 * there are none. */
	bool kept_by_other;
	uint32_t keeper, members;
	const bool *sharers;
	/* The rules by which a full store is made to have room for the next snapshot; borrowed;
	 * NULL: all snapshots stay. */
	const struct forget_policy *retention;
	json_t *about;                        /* added to the manifests; borrowed; may be NULL */
	const struct profile *profile;        /* its temporary files are left out; may be NULL */
	const struct file_patterns *patterns; /* NULL: only the known names; borrowed */

	/* On the loop, when a snapshot begins: what it may hold, and which checkpoint is the newest
	 * in it (the one that was submitted, or a newer one). */
	void (*plan)(void *arg, struct snapshot_plan *plan, struct checkpoint *checkpoint);
	/* On the loop, once every file is open: is the plan still good (tracker_confirm())?
	 * `tries`: how often that was refused in a row. */
	bool (*confirm)(void *arg, struct snapshot_plan *plan, unsigned tries);
	/* On the loop: what was learned of the checkpoints, for the manifest; owned by the caller;
	 * NULL: nothing. */
	json_t *(*signatures)(void *arg);
	/* Of a gang. On the loop: a checkpoint waits for its round. */
	void (*wants_round)(void *arg);
	/* ... from any thread: the round gets no more parts than it has. */
	bool (*round_is_settled)(void *arg, uint32_t round);
	/* On the loop, after each snapshot, durable or not. */
	void (*finished)(void *arg, const struct snapshot_outcome *report);
	void *arg;
};

int snapshot_queue_new(const struct snapshot_queue_options *options, struct snapshot_queue **queue,
		       struct err *err);
/* Call after workers_free(), which waits for the running snapshot. */
void snapshot_queue_free(struct snapshot_queue *queue);

/* Uploads the checkpoint now, or after the running snapshot; of a gang, when its round comes. */
void snapshot_queue_submit(struct snapshot_queue *queue, const struct checkpoint *checkpoint);
/*
 * While a checkpoint is being written: uploads its closed files, and the parts by which its open
 * files grow. Only if no snapshot runs or waits. Relative paths, NULL-terminated; takes ownership.
 */
void snapshot_queue_upload_early(struct snapshot_queue *queue, char **closed, char **open);
/* Ends early uploads for good. Call before workers_free(). */
void snapshot_queue_stop_early(struct snapshot_queue *queue);
/* A checkpoint waits for a round, and nothing runs. */
bool snapshot_queue_wants_round(const struct snapshot_queue *queue);
/* The checkpoint that waits is saved in this round if it is the newest still, with the round's
 * generation. If none waits, this member gives what lies beside (`round->beside`), and the outcome
 * is `unasked`. Does nothing while a snapshot is being made. */
void snapshot_queue_take_round(struct snapshot_queue *queue, const struct snapshot_round *round);
/* A snapshot is being made. */
bool snapshot_queue_is_running(const struct snapshot_queue *queue);
/* A snapshot runs or waits. */
bool snapshot_queue_is_busy(const struct snapshot_queue *queue);

/* Fills in what the view has of the running snapshot, if one runs, and of a round that is waited
 * for. */
void snapshot_queue_look(const struct snapshot_queue *queue, struct job_view *view);

/* When (monotonic) the running snapshot was started; 0: none runs. */
int64_t snapshot_queue_began_ms(const struct snapshot_queue *queue);

/* Cancels the running and the waiting snapshot; `finished` is still called for the running one. */
void snapshot_queue_cancel(struct snapshot_queue *queue);
/* A snapshot that is not committed by then (monotonic) is cancelled. */
void snapshot_queue_set_deadline(struct snapshot_queue *queue, int64_t deadline_ms);

/* Of a gang: another member has committed it, with a part of this one. */
void snapshot_queue_note_committed(struct snapshot_queue *queue, uint32_t round);

/* The newest durable snapshot: at first the parent, which may be none. */
struct snapshot_id snapshot_queue_newest(const struct snapshot_queue *queue);

/* Warns in one line about files that the snapshot does not hold (sockets, devices, links that lead
 * outside), or logs nothing if there are none. */
void skipped_files_report(const struct save_result *result, const char *directory);

/* --- retention_worker.c --- */

/*
 * Applies the --keep-* rules of `run` in the background, after a commit. It shares the worker
 * thread of the snapshots, so that the storage is used by one call at a time. No save waits for it:
 * the caller stops it, and starts it again after the next commit. Lives on the loop; nothing here
 * blocks.
 */

struct retention_worker;

struct retention_worker_options {
	struct workers *workers;
	struct storage *storage;
	uint32_t attempt;
	struct forget_policy policy; /* borrows what it points to */
	/* On the loop, after each run. `err` is set unless it `worked`. */
	void (*finished)(void *arg, bool worked, const struct forget_result *result,
			 const struct err *err);
	void *arg;
};

struct retention_worker *retention_worker_new(const struct retention_worker_options *options);
/* Call after workers_free(), which waits for the running one. NULL is fine, here and below. */
void retention_worker_free(struct retention_worker *retention_worker);

/* Starts a run, unless one is running. False: none runs. */
bool retention_worker_start(struct retention_worker *retention_worker);
/* Ends the run within milliseconds; `finished` is still called. Some snapshots may have been
 * removed; those that are left are intact. */
void retention_worker_stop(struct retention_worker *retention_worker);
/* Ends the run after this time at the latest. */
void retention_worker_limit_time(struct retention_worker *retention_worker, int64_t milliseconds);
/* PURE. What the policy lets go, and how nothing goes, for a line of the log: "that ...". */
const char *retention_words(const struct forget_policy *policy);

#endif
