/*
 * PURE. Does the job save where it is watched? What is said of a run that has saved nothing in the
 * checkpoint directory, and when: a save that is seen elsewhere is said at once, that nothing was
 * seen at all after a minute, and at the end what came of it. Once the job has written to the
 * directory, most of what it saves elsewhere is its business: data sets, caches, curves, a final
 * model.
 *
 * But a job may have a part of its state in a second place, which would not come back with the
 * first. That is said once, of a place where it has saved two checkpoints with different numbers,
 * or the same file of weights twice that is not among data or logs.
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
	/* why that directory is refused as --checkpoint-dir, and what helps (directory_check.h);
	 * NULL: it is not */
	const char *refused, *advice;
	bool saved_here;    /* the directory was written to */
	bool found_here;    /* it held a checkpoint at the start, or a snapshot was restored */
	bool expected;      /* an option or the command says that it saves checkpoints */
	bool chosen;        /* an option says so */
	bool ended, failed; /* the job, and with another code than 0 */
	const char *also;   /* what it has saved last in a second place; NULL: there is none */
	bool both_refused;  /* save_place_both() is refused as --checkpoint-dir */
	bool said_elsewhere, said_nowhere, said_also;
	int64_t ran_ms;
};

enum save_place_remark {
	SAVE_PLACE_SILENT,
	SAVE_PLACE_ELSEWHERE,
	SAVE_PLACE_NOWHERE,
	SAVE_PLACE_ALSO,
};

/* Is that file one of the checkpoints that the job saves? `again`: it was saved before. */
bool save_place_is_checkpoint(const char *path, bool again);

/* Is its directory a second place beside `watched`? `before`: what was saved elsewhere before, each
 * once. */
bool save_place_is_second(const char *path, const char *watched, bool again, char *const *before,
			  size_t count);

enum save_place_remark save_place_decide(const struct save_place_facts *facts);

/* The innermost directory that holds the watched one and the second place; NULL: only / does.
 * Returns `text`. */
const char *save_place_both(const struct save_place_facts *facts, char *text, size_t size);

/* One line for the user; `remark` is not SILENT. Returns `text`. */
const char *save_place_format(const struct save_place_facts *facts, enum save_place_remark remark,
			      char *text, size_t size);

/* The directory to watch for a checkpoint at `path`: the one that contains it, without the
 * numbered directories that are one checkpoint each. At most size - 1 bytes; returns `text`. */
const char *save_place_directory(const char *path, char *text, size_t size);

#endif
