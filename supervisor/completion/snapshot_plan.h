/* PURE. What a snapshot may hold, as of one moment; and whether that still holds once its files are
 * open. */
#ifndef SNAPSHOT_PLAN_H
#define SNAPSHOT_PLAN_H

#include "workspace/workspace.h"

#include <stdbool.h>
#include <stdint.h>

struct detector;

enum snapshot_gone {
	GONE_NOTHING,
	GONE_NEWEST,
	GONE_ANY,
};

/* Paths are relative and NULL-terminated. */
struct snapshot_plan {
	uint64_t generation, running_generation, repository_generation;
	/* Checkpoints that are not complete, torn files; numbered directories as a whole.
	 * snapshot_plan_confirm() adds what was begun since, the owner what names one of these. */
	struct path_list excluded;
	/* files that are running ones by behaviour */
	char **running;
	/* key of the newest complete checkpoint: if that one changes, the plan is void */
	char *key;
	/* the files of the numbered checkpoints that are complete: what is not there any more when
	 * the directory is walked takes its checkpoint with it */
	char **complete;
	/* kinds (checkpoint_name_family(); or ":" and a checkpoint_name_template()) whose numbers
	 * name parts: their files count as fixed names */
	char **parts;
	/* directories that were made since the newest complete save: without a file, they are of
	 * the next one; as of snapshot_plan_confirm() */
	char **made;
	/* What the newest complete checkpoint had was deleted, which belongs to the next save: it
	 * stays as the snapshot before has it, and so does its number (-1: the fixed names). If
	 * none was complete yet, that are all files. */
	enum snapshot_gone gone;
	int64_t gone_number;
	bool ended; /* the job has ended by itself */
	/* added by its owner: the files that were found empty once all were open */
	char **empty;
	/* The newest complete checkpoint has been written over since, so that it had to be left
	 * out: a snapshot of this plan does not make it durable. */
	bool lacks_newest;
	/* ... and a snapshot would hold a part of a set of fixed names, or less than the one
	 * before it, and no whole checkpoint beside: none is made */
	bool holds_less;
	/* The newest numbered checkpoint that is complete, and so in every snapshot of this plan:
	 * its step (-1: unknown), and its last write in ms of CLOCK_MONOTONIC (0: there is none).
	 */
	int64_t held_step, held_ms;
};

/* Of all that the detector knows now; `newest`: key of the newest complete checkpoint, NULL: there
 * is none. The caller releases the plan. */
void snapshot_plan_make(struct snapshot_plan *plan, const struct detector *detector,
			const char *newest);
void snapshot_plan_release(struct snapshot_plan *plan);
/* What it would say, without making it. */
bool snapshot_plan_would_lack_newest(const struct detector *detector, const char *newest);
bool snapshot_plan_would_hold_less(const struct detector *detector, const char *newest);
/* See tracker_confirm(). */
bool snapshot_plan_confirm(struct snapshot_plan *plan, const struct detector *detector,
			   bool last_try);
/* Is the path, or a directory above it, in the list? */
bool snapshot_plan_lists(char *const *paths, const char *path);

#endif
