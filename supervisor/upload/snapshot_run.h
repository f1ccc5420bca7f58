/*
 * PRIVATE. One snapshot that is being made: snapshot_queue.c makes one after the other,
 * snapshot_contents.c says which files belong to it.
 */
#ifndef SNAPSHOT_RUN_H
#define SNAPSHOT_RUN_H

#include "base/cancel.h"
#include "base/err.h"
#include "base/workers.h"
#include "storage/storage.h"
#include "upload.h"
#include "workspace/workspace.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- database_copies.c --- */

/*
 * The SQLite databases among the files of a checkpoint directory, and copies of them for the
 * snapshot that is being taken: neither a prefix of a database nor its files one after the other
 * are a database. A copy is a state that the database had: what had been committed, and no part of
 * anything else. It is made of the database's files, and SQLite recovers the copy alone: nothing in
 * the job's directory is created, changed or removed. A writer waits for at most two seconds.
 *
 * The copies are in our folder beside the directory for as long as the snapshot is saved. Blocks;
 * lives on one worker thread. The one door to libsqlite3.
 */

struct database_copies {
	struct workspace *workspace; /* set by the owner; borrowed */
	struct database {
		char *path;
		char *copy;    /* NULL: there is none yet, or */
		bool left_out; /* it could not be copied */
	} * items;
	size_t count;
	struct path_set warned; /* marked: its warning has been given */
};

/* Removes the copies too. */
void database_copies_release(struct database_copies *copies);

/* Before the snapshot: removes what an earlier one left, and finds the databases. `skip` says which
 * files are none of ours: what is not saved, and what is part of a checkpoint. */
void database_copies_find(struct database_copies *copies, bool (*skip)(void *arg, const char *path),
			  void *arg, struct cancel *cancel);
/*
 * Copies each of them: once the other files have been opened, because a database may be locked for
 * seconds. What cannot be copied is warned about, once for each path, and is then not in the
 * snapshot: half a database is worse than none. Ends early when cancelled; what was not copied
 * until then is left out in silence.
 */
void database_copies_make(struct database_copies *copies, struct cancel *cancel);
/* When the snapshot is taken: removes the copies and forgets the databases. */
void database_copies_remove(struct database_copies *copies);

/* Is the file, which is relative to the directory, a database that was found? */
bool database_copies_include(const struct database_copies *copies, const char *path);
/* Is the path not to be in the snapshot: a side file of a database, or a database that could not be
 * copied? */
bool database_copies_exclude(const struct database_copies *copies, const char *path);

/* --- early_upload.c --- */

/*
 * Uploads large files of a checkpoint that is still being written: closed files, and the parts by
 * which open files grow, for as long as they do. It runs at most once at a time, on the worker that
 * also uploads snapshots, and yields it at once when a snapshot waits. One that runs goes on to
 * newer paths when it is done with what its files have grown by so far. Lives on the loop; nothing
 * here blocks.
 */

struct early_upload_paths {
	struct snapshot_id id, parent; /* of the snapshot that will follow */
	char **closed, **open;
};

struct early_upload {
	struct snapshot_queue *owner;
	struct cancel cancel;
	atomic_bool enough;  /* a snapshot waits */
	atomic_bool renewed; /* `next` has newer paths */
	bool busy;

	/* Owned by the worker while busy. */
	struct early_upload_paths now;
	/* What is to come after it; none while `renewed` is not set. */
	struct early_upload_paths next;
};

/* Call after workers_free(), which waits for the running upload. */
void early_upload_release(struct early_upload *early_upload);

/* Ends the running upload soon: packs that are under way are still sent. */
void early_upload_yield(struct early_upload *early_upload);
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
		struct path_set paths, numbers;
	} walked;                /* what has a number, when the directory was walked */
	struct path_set deleted; /* the numbers of checkpoints of which a part was gone by then */
	struct {
		struct path_list paths, texts;
	} read;             /* small files with fixed names */
	bool carries_names; /* fixed names are carried over, which may be pointers */
	bool confirmed;
	/* Of a gang: the checkpoint that the round is about, and whether it is another one by now.
	 */
	uint64_t expected;
	bool moved;
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
	bool said_made_room;
	struct cancel cancel;
	uint32_t sequence;
	struct snapshot_id newest;
	struct snapshot_run *running;
	struct early_upload early_upload;
	struct database_copies databases; /* the worker's */
	bool waiting;
	struct checkpoint next; /* while waiting */
	uint64_t generation;    /* of the last snapshot that was tried */
	unsigned tries;         /* how often its plan was refused */
	int64_t held_number;    /* of the newest checkpoint in the last one; -1: unknown */
	bool said_removed;
	_Atomic uint64_t furthest; /* the most bytes that any try of it has sent */
	_Atomic int64_t advanced_ms;
};

/* --- snapshot_queue.c --- */

/* Begins the snapshot that waits, if there is one; of a gang, asks for its round. */
void snapshot_queue_start_waiting(struct snapshot_queue *queue);
/* Plans a snapshot of this checkpoint, or of a newer one, and begins it. `round` NULL: there is no
 * gang, and it gets the next number. */
void snapshot_queue_start(struct snapshot_queue *queue, const struct checkpoint *checkpoint,
			  const struct snapshot_round *round);

/* It has to do without the newest checkpoint, and is one of the newest that it holds. Of a gang
 * its round says which one that is. */
void snapshot_run_lacks_newest(struct snapshot_run *run);

/* --- database_copies.c; `arg` is the struct snapshot_run, for struct save_request --- */

/* The copy of the database `path`, in snapshot_database_directory(). NULL: it is no database, or
 * there is no copy of it. Borrowed until the next find or remove. */
const char *snapshot_database_copy(void *arg, const char *path);
/* Our folder, held open; borrowed. */
int snapshot_database_directory(void *arg);

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
/* Without a file in it, the directory is of the next save if it was made since the newest complete
 * one; of a part without a checkpoint, each is. */
bool snapshot_is_of_next(void *arg, const char *directory);
/* Is there any such path? */
bool snapshot_carries_any(void *arg);
/*
 * Is the file one for which the snapshot is made? If the newest complete checkpoint was deleted or
 * moved, one of what is left of it, or of another complete checkpoint; or it stays as the snapshot
 * before has it. A snapshot without such a file would take the place of one with a checkpoint. What
 * a job that has ended by itself has deleted is deleted for good.
 */
bool snapshot_is_wanted(void *arg, const char *path);
bool snapshot_is_running_path(void *arg, const char *path);
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
