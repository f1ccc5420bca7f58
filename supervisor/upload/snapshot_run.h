/*
 * PRIVATE. One snapshot that is being made: snapshot_queue.c makes one after the other,
 * snapshot_contents.c says which files belong to it.
 */
#ifndef SNAPSHOT_RUN_H
#define SNAPSHOT_RUN_H

#include "database_copies.h"
#include "early_upload.h"
#include "snapshot_queue.h"

#include <pthread.h>
#include <stdatomic.h>

/* A checkpoint's number stands in it once. */
struct numbers {
	int64_t *items;
	size_t count;
};

/* One snapshot. Owned by the worker while it runs. */
struct snapshot_run {
	struct snapshot_queue *owner;
	struct snapshot_outcome report;
	int64_t began_ms;
	struct snapshot_plan plan;
	json_t *about;
	struct snapshot_files files; /* as they were when the descriptors were opened */
	struct path_list matched;
	struct {
		struct path_set paths;
		struct numbers numbers;
	} walked;               /* what has a number, when the directory was walked */
	struct numbers deleted; /* of checkpoints of which a part was gone by then */
	struct {
		struct path_list paths, texts;
	} read;             /* small files with fixed names */
	bool carries_names; /* fixed names are carried over, which may be pointers */
	bool confirmed;
	/* Of a gang: the checkpoint that the round is about, whether it is another one by now, and
	 * the newest event of the gang's log that it answers. */
	uint64_t expected;
	bool moved;
	uint32_t saw;
	json_t *kept; /* the paths of others, or those of this member that another one keeps */
	_Atomic bool awaits_others;
	/* So often because the store had lost what a try relied on, or was full. */
	unsigned again;
	/* The store was full; something was removed, as `forgotten` says. */
	bool made_room;
	struct forget_result forgotten;
	_Atomic uint64_t bytes_done, bytes_total;

	/* The worker asks the loop one question, in confirm_still_complete(). */
	pthread_mutex_t mutex;
	pthread_cond_t answered;
	struct {
		bool answered, complete;
	} locked;
};

struct snapshot_queue {
	struct snapshot_queue_options options;
	struct forget_policy retention; /* what options.retention points to, if it has one */
	bool said_made_room;
	struct cancel cancel;
	uint32_t sequence;
	struct snapshot_id newest;
	struct snapshot_run *running;
	struct early_upload *early_upload;
	struct database_copies *databases; /* the worker's */
	bool waiting;
	struct checkpoint next;    /* while waiting */
	uint64_t generation;       /* of the last snapshot that was tried */
	unsigned tries;            /* how often its plan was refused */
	_Atomic uint64_t furthest; /* the most bytes that any try of it has sent */
	_Atomic int64_t advanced_ms;
};

/* --- snapshot_queue.c --- */

/* Plans a snapshot of this checkpoint, or of a newer one, and begins it. `round` NULL: there is no
 * gang, and it gets the next number. */
void snapshot_queue_start(struct snapshot_queue *queue, const struct checkpoint *checkpoint,
			  const struct snapshot_round *round);

/* It has to do without the newest checkpoint, and is one of the newest that it holds. Of a gang
 * its round says which one that is. */
void snapshot_run_lacks_newest(struct snapshot_run *run);

/* --- snapshot_round.c, of a gang --- */

/* What this member, or those whose files it saves as well, have written of the checkpoint. Blocks;
 * false: the report says why it is not known. */
bool snapshot_round_find_kept(struct snapshot_run *run);
/* If the round is about an older checkpoint than the newest: what is later is left out. */
void snapshot_round_go_back(struct snapshot_run *run);
/* What others have written of it is in what was walked. */
bool snapshot_round_has_kept(const struct snapshot_run *run);
/* The plan is no part of the round, and the report says why. */
bool snapshot_round_refuse(struct snapshot_run *run);
/* Of a part without a checkpoint: the file is part of it, or it is a directory. What the job has
 * of other members, restored from theirs, stays theirs. */
bool snapshot_lies_beside(const struct snapshot_run *run, const char *path);
/* For struct save_request: `arg` is the struct snapshot_run. */
bool snapshot_round_is_settled(void *arg);

/* --- snapshot_contents.c; `arg` is the struct snapshot_run, for struct save_request --- */

/* Is the path no part of this snapshot? */
bool snapshot_leaves_out(const struct snapshot_run *run, const char *path);
/* The same. Called for each path, and once more for each after the freeze. */
bool snapshot_excludes(void *arg, const char *path);
/*
 * What has a fixed name and is left out, because it is being written over or was torn, stays as the
 * snapshot before had it: a job that is started again needs one that is whole. What has a number is
 * another checkpoint each time, and is in a snapshot whole or not at all.
 */
bool snapshot_carries(void *arg, const char *path);
/* Without a file in it, the directory is of the next save; of a part without a checkpoint, each is.
 */
bool snapshot_is_of_next(void *arg, const char *directory);
/* Is there any such path? */
bool snapshot_carries_any(void *arg);
bool snapshot_is_running_path(void *arg, const char *path);
/* The copy that stands in for a database; NULL: it is none. */
const char *snapshot_database_copy(void *arg, const char *path);
int snapshot_database_directory(void *arg);
/* What has a number is part of that checkpoint, and at rest when it is complete. */
bool snapshot_has_no_live_database(void *arg, const char *path);
/* What was complete when the plan was made, and was not there any more when the directory was
 * walked: the rest of its checkpoint is a part of one. False: that is the newest. */
bool snapshot_note_deleted(struct snapshot_run *run);
/*
 * A pointer (`latest`) that names a checkpoint which is left out is left out too: a start from
 * there would die of it. The small files with fixed names are read once every file is open, before
 * the plan is confirmed: what is written over in between is dropped by that.
 */
void snapshot_read_pointers(struct snapshot_run *run);
/* Once it is confirmed. */
void snapshot_drop_pointers(struct snapshot_run *run);

#endif
