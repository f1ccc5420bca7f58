/*
 * PURE. Finds incomplete checkpoints by the layout rules of the profiles: a marker is missing, a
 * sentinel is still there, half of a pair is missing, or the pointer file names a lower number. The
 * contents of files are checked by file_format.h.
 */
#ifndef LAYOUT_RULES_H
#define LAYOUT_RULES_H

#include "profile.h"

struct layout_view {
	const struct snapshot_files *files; /* sorted by path */
	/* Returns the text of a small file, owned by the view; NULL: it cannot be read. */
	const char *(*text)(void *arg, const char *path);
	/* Was the file written in the save that is being checked? NULL: not known, every file
	 * counts. */
	bool (*fresh)(void *arg, const char *path);
	void *arg;
	/* Another machine has the markers that the one with rank 0 has (profile_rule.at_rank_0). */
	bool marker_elsewhere;
};

/* `path`: the checkpoint's directory or the file, relative. `why`: "checkpoint-5 has no
 * trainer_state.json". Both are valid during the call. Called once for each path. */
typedef void layout_rules_fn(void *arg, const char *path, const char *why);

/* Applies the rules of `profile` (may be NULL), and those rules of all other profiles that are
 * marked `anywhere`. */
void layout_rules_find_incomplete(const struct profile *profile, const struct layout_view *view,
				  layout_rules_fn *report, void *arg);

/* Path of a checkpoint beside the one at `path` that has a higher number and contains its
 * completion marker; the caller frees it. NULL: there is none. */
char *layout_rules_later_checkpoint(const struct profile *profile, const struct layout_view *view,
				    const char *path);

#endif
