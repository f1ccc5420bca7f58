/*
 * The second machine beside the job's: at most one snapshot is being taken, and at most one waits;
 * the last one asked for wins. Lives on the loop; the work itself runs on a worker thread.
 */
#ifndef SNAPSHOT_QUEUE_H
#define SNAPSHOT_QUEUE_H

#include "base/cancel.h"
#include "base/loop.h"
#include "base/workers.h"
#include "frameworks/frameworks.h"
#include "storage/storage.h"
#include "workspace/workspace.h"

#include <stdbool.h>
#include <stdint.h>

struct snapshot_queue;

/* What a checkpoint is that is known to be complete. */
struct checkpoint {
	uint64_t generation; /* of the tracker, when it was sealed */
	int64_t step;        /* -1 unknown */
	char reason[16];
	int64_t completed_ms; /* monotonic: when that was known */
	int64_t written_ms;   /* its last write: what the job did after that is not in it */
};

struct snapshot_outcome {
	bool durable;
	struct err err; /* when not */
	struct checkpoint checkpoint;
	struct snapshot_id id;
	struct save_result result;
	char log[256];   /* a log that stays where it is; "" none */
	int64_t took_ms; /* from the start of the work to the commit */
};

struct snapshot_queue_options {
	struct loop *loop;
	struct workers *workers; /* one thread: then the storage is used by one call at a time */
	struct storage *storage;
	uint32_t attempt;
	struct snapshot_id parent;
	struct workspace *workspace;
	const char *job;
	json_t *about;                 /* for the manifests; borrowed; may be NULL */
	const struct profile *profile; /* its temporary names are left out; may be NULL */

	/* On the loop: is what was sealed at this generation still untouched? */
	bool (*still_complete)(void *arg, uint64_t generation);
	/* On the loop: paths that are torn, relative; NULL-terminated, owned by
	 * the snapshot from then on. */
	char **(*torn)(void *arg);
	/* On the loop, after each. */
	void (*finished)(void *arg, const struct snapshot_outcome *report);
	void *arg;
};

int snapshot_queue_new(const struct snapshot_queue_options *options, struct snapshot_queue **queue,
		       struct err *err);
/* Cancels what runs. Call workers_free() before: it waits for it. */
void snapshot_queue_free(struct snapshot_queue *queue);

void snapshot_queue_submit(struct snapshot_queue *queue, const struct checkpoint *checkpoint);
/*
 * A checkpoint is being written, and these files of it are closed, those still open: sends them,
 * and what there is of those. Only when idle: neither is a snapshot being taken or waited for, nor
 * anything sent ahead. Paths relative, NULL-terminated, owned from then on.
 */
bool snapshot_queue_is_idle(const struct snapshot_queue *queue);
void snapshot_queue_upload_early(struct snapshot_queue *queue, char **closed, char **open);
/* For good, before workers_free(). */
void snapshot_queue_stop_early(struct snapshot_queue *queue);
bool snapshot_queue_is_busy(const struct snapshot_queue *queue);

/* How far the one that is being taken has come; false if none is. */
bool snapshot_queue_progress(const struct snapshot_queue *queue, uint64_t *bytes_done,
			     uint64_t *bytes_total);

/* When (monotonic) the one that is being taken was begun; 0 if none is. */
int64_t snapshot_queue_began_ms(const struct snapshot_queue *queue);

/* When (monotonic) a snapshot was last seen to get further in the store; 0: never. A try that only
 * repeats an earlier one does not. */
int64_t snapshot_queue_advanced_ms(const struct snapshot_queue *queue);

/* Gives up what runs and what waits; `finished` is still called for what runs. */
void snapshot_queue_cancel(struct snapshot_queue *queue);
/* What is not committed by then is given up. */
void snapshot_queue_set_deadline(struct snapshot_queue *queue, int64_t deadline_ms);

/* The newest durable one. none before the first. */
struct snapshot_id snapshot_queue_newest(const struct snapshot_queue *queue);

/* --- what a snapshot cannot hold, said to the user --- */

/* One line, or none if nothing was left out. */
void skipped_files_report(const struct save_result *result, const char *directory);

#endif
