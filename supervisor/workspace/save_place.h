/*
 * PURE. Does the job save where it is watched? What is said of a run that has saved nothing in the
 * checkpoint directory, and when: a save that is seen elsewhere is said at once, that nothing was
 * seen at all after a minute, and both again at the end. Nothing is said once the job has written
 * to the directory: then what it saves elsewhere is its business.
 *
 * A single file may be anything, as a data set in a cache. It is named all the same, but not where
 * the job has found a checkpoint to go on from: that says where it saves. A numbered checkpoint, or
 * the same file twice, says more than what an earlier run has left. A job that saves those
 * elsewhere and nothing here is named in any case, what it does is not durable, and a notice does
 * not wait for its first save here; that only where the user has not chosen the directory.
 */
#ifndef SAVE_PLACE_H
#define SAVE_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SAVE_PLACE_PATIENCE_MS 60000
#define SAVE_PLACE_TEXT 1400

struct save_place_facts {
	const char *watched;   /* the checkpoint directory */
	const char *elsewhere; /* the file to name that was saved elsewhere; NULL: none was seen */
	bool checkpoints;      /* ... and checkpoints are saved there */
	bool saved_here;       /* the directory was written to */
	bool found_here;       /* it held a checkpoint at the start, or a snapshot was restored */
	bool expected;         /* an option or the command says that it saves checkpoints */
	bool chosen;           /* an option says so */
	bool ended, failed;    /* the job, and with another code than 0 */
	bool said_elsewhere, said_nowhere;
	int64_t ran_ms;
};

enum save_place_remark {
	SAVE_PLACE_SILENT,
	SAVE_PLACE_ELSEWHERE,
	SAVE_PLACE_NOWHERE,
};

/* Is that file one of the checkpoints that the job saves? `again`: it was saved before. */
bool save_place_is_checkpoint(const char *path, bool again);

enum save_place_remark save_place_decide(const struct save_place_facts *facts);

/* One line for the user; `remark` is not SILENT. Returns `text`. */
const char *save_place_format(const struct save_place_facts *facts, enum save_place_remark remark,
			      char *text, size_t size);

/* The directory to watch for a checkpoint at `path`: the one that contains it, without the
 * numbered directories that are one checkpoint each. At most size - 1 bytes; returns `text`. */
const char *save_place_directory(const char *path, char *text, size_t size);

#endif
