/* PUBLIC, through storage.h. A directory becomes a snapshot; parts of it may be sent before. */
#ifndef STORAGE_SAVE_H
#define STORAGE_SAVE_H

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "storage/format/snapshot_id.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct storage;

/* --- saving --- */

struct save_progress {
	/* Of all files in the snapshot. */
	uint64_t bytes_total;
	uint64_t bytes_done;
	/* Written to the store so far, compressed; what storage_presave() has sent counts in. */
	uint64_t bytes_sent;
};

struct save_request {
	/* The attempt is from storage_claim(), the sequence chosen by the caller, rising. */
	struct snapshot_id id;
	/* What this one follows; none for the first. */
	struct snapshot_id parent;
	const char *directory;
	/* "notice", "request", "interval", "change", "exit": kept in the manifest. */
	const char *reason;
	/* Of the training; -1: unknown. */
	int64_t step;
	/* Kept as "about"; borrowed; may be NULL. */
	json_t *about;

	/*
	 * True: the path, relative to `directory`, is not to be part of it; if it is a directory,
	 * nor is anything below it. Called on the caller's thread: while the directory is walked,
	 * and once more for every path after `frozen` has returned true, so that files which a
	 * later checkpoint has begun meanwhile are dropped. NULL: nothing is excluded.
	 */
	bool (*exclude)(void *arg, const char *path);
	/*
	 * True: the file is a running one: it is written as long as the job lives, and belongs to
	 * no checkpoint. What is saved is the prefix that it has right after `frozen` has returned
	 * true, however it grows while it is read. If it is truncated below that before it is read,
	 * or its name is taken away before it can be opened, it is not in this snapshot,
	 * and that never fails the save. Called like `exclude`, for
	 * files only, and the second time for those that it has not called running before. NULL:
	 * there are none.
	 */
	bool (*running)(void *arg, const char *path);
	/*
	 * The path of another file, in `source_directory`, whose content stands for this file, such
	 * as a backup of a database; NULL: its own content. Mode, times and attributes remain its
	 * own. It counts as a running file, and `running` should say so already when it is opened.
	 * The answer belongs to the callee and is valid, like the file, until storage_save()
	 * returns. Called for every file after `frozen` has returned true, which may thus make the
	 * copies: what has been opened cannot be taken away meanwhile. NULL: every file has its own
	 * content.
	 */
	const char *(*source)(void *arg, const char *path);
	/* Held open; 0: none, and `source` has nothing to say. Asked for once `source` has said
	 * something. */
	int (*source_directory)(void *arg);
	/* Called once, after every file has been opened: false means that what was opened is no
	 * longer one complete checkpoint; saving then ends with ERR_RETRY. NULL: always true. */
	bool (*frozen)(void *arg);
	/* A file of the parent that is not in this snapshot: true: it stays in it, as the parent
	 * has it. For files under fixed names that are just being written over. Called after
	 * `frozen`. NULL: none. */
	bool (*carried)(void *arg, const char *path);
	/* May `carried` say so of any path? It spares reading the parent's manifest. Called after
	 * `frozen`. NULL: it may. */
	bool (*carries)(void *arg);
	/* Is the snapshot made for this file? Called last, of each file that it has until one is:
	 * if none is, no snapshot is made, and save_result.empty is set. NULL: each is. */
	bool (*wanted)(void *arg, const char *path);
	/* True: the directory, in which there is no file of the snapshot, is no part of it. Called
	 * after `frozen`. NULL: all are. */
	bool (*bare)(void *arg, const char *path);
	/* Of a member of a gang (storage_gang.h), whose snapshot has the number of the round as its
	 * sequence. It saves no checkpoints: what is there lies beside those of others, and its
	 * part says so; if there is no file at all, the part is empty. */
	bool gang_beside;
	/* Its files are in the part of `gang_keeper`, since both have one directory: its own part
	 * is empty, and no file is opened. `gang_kept`: the paths of those of this checkpoint, an
	 * array; borrowed; may be NULL. */
	bool gang_is_kept;
	uint32_t gang_keeper;
	json_t *gang_kept;
	/* All jobs have ended, and this is what they have left: the steps of the parts are not
	 * compared. */
	bool gang_final;
	/* True: the round is over, and will have no more parts than it has. Asked several times a
	 * second while the part waits for those of the others, on the thread of the caller.
	 * storage_save() then looks once more, and ends with ERR_RETRY and save_result.changed if
	 * there is no commit. NULL: never. */
	bool (*gang_over)(void *arg);

	/* From any thread, a few times a second at most. NULL: not wanted. */
	void (*progress)(void *arg, const struct save_progress *progress);
	void *arg;
};

struct save_result {
	struct snapshot_id id;
	/* It failed because there is no file to save. No error kind says so. */
	bool empty;
	/* With ERR_RETRY: it is the files that changed, and not the store that failed; or the round
	 * of the gang has ended without a commit of them. */
	bool changed;
	/* Of a gang, after a failure. With `changed` and not GANG_FATE_LIES it is certain: the
	 * round will never be committed with these files, unless the attempt is over. */
	enum gang_part_fate gang_fate;
	/* Of a gang: a part for this round may lie in the store, by this call or an earlier one:
	 * then storage_gang_look_after_part() is what follows a failure, and no other call for it.
	 */
	bool gang_put;
	/* With ERR_RETRY: the store has lost what it had, and nothing was committed. That is known
	 * now, so that the same call, made again at once, sends it. */
	bool store_lacks;
	/* Regular files, and their sizes added up. */
	uint32_t files;
	uint64_t bytes;
	/* Written to the store for it, manifest included, and before it by storage_presave(). */
	uint64_t bytes_sent;
	/* Chunks that were sent for it, and that were already there. */
	uint32_t chunks_sent;
	uint32_t chunks_kept;
	/* What is neither file nor directory nor a link that stays inside: how many, the first by
	 * name, and what that is: "a socket" (static; NULL: none). */
	uint32_t left_out;
	char left_out_path[512];
	const char *left_out_what;
};

/*
 * Saves a directory as one snapshot, and commits it.
 *
 * It opens every file first and reads from those descriptors, so that the trainer may delete or
 * rename what it likes meanwhile. A file of which only the ctime moved, or that somebody has open
 * for writing, is read again to make sure. A file that was written to since it was opened (size,
 * mtime) belongs to another checkpoint: ERR_RETRY; a mixture is never committed. None of this holds
 * for running files (save_request.running). Before the commit
 * it looks whether the attempt has been superseded: then ERR_EXISTS ("attempt 4 has taken over"),
 * and nothing is published; and once more after it, since only then it is certain: ERR_EXISTS if a
 * newer attempt leaves it behind, another error if that cannot be looked up. ERR_NOT_FOUND: the
 * directory has no regular file. Whatever the error,
 * what was committed before stands.
 */
int storage_save(struct storage *storage, const struct save_request *request,
		 struct save_result *result, struct cancel *cancel, struct err *err);

/* Whether saving this directory can begin: every file of it opens, and there is one (else
 * ERR_NOT_FOUND). Needs no store. */
int storage_check_directory(const char *directory, struct cancel *cancel, struct err *err);

/* --- sending early --- */

struct presave_request {
	/* Of the snapshot that is to come: packs are named after it. */
	struct snapshot_id id;
	/* As for storage_save(). */
	struct snapshot_id parent;
	const char *directory;
	/* Relative to it: files that are closed. Those that are not there are passed over. */
	const char *const *paths;
	size_t path_count;
	/*
	 * They are still being written: what has come since the last time is sent, some 16 MiB of
	 * all files at least, or nothing. It only counts as far as storage_save() finds the same
	 * bytes, so a file that is not written in order costs time and nothing else.
	 */
	bool growing;
	/* Of growing files: true goes on to look for what they grow by, for as long as they do.
	 * Asked every few ms. NULL: never. */
	bool (*go_on)(void *arg);
	/* True ends it early, with what has been read handed over. From any thread, often. NULL:
	 * never. */
	bool (*enough)(void *arg);
	void *arg;
};

struct presave_result {
	/* Read to their ends, and unchanged since. */
	uint32_t files;
	uint64_t bytes;
	uint32_t chunks_sent, chunks_kept;
};

/*
 * Reads and sends files that are complete for themselves, while the checkpoint as a whole is still
 * being written. Nothing is committed. The storage remembers, so that the next storage_save() of
 * this process sends the rest: a file that was not touched since is not even read again, and one
 * that was simply does not match. Returns when everything is read; what is still on its way goes on
 * by itself, and storage_save() waits for it. If none follows, packs are left that no manifest
 * names. ERR_RETRY: a file went away under it. Any failure costs nothing but time: storage_save()
 * then sends it all. Cancelling gives up what is under way; `enough` does not.
 */
int storage_presave(struct storage *storage, const struct presave_request *request,
		    struct presave_result *result, struct cancel *cancel, struct err *err);

#endif
