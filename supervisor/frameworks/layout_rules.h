/*
 * PURE. Which checkpoints of a directory are not complete, by the rules of the profiles: a marker
 * that is missing, a sentinel that is still there, half of a pair, a number that the pointer beside
 * it has not reached. What the files hold is file_format.h's matter.
 */
#ifndef LAYOUT_RULES_H
#define LAYOUT_RULES_H

#include "profile.h"

struct layout_view {
	const struct snapshot_files *files; /* sorted by path */
	/* The text of a small file, NUL-terminated; NULL: cannot be read. Owned by the view. */
	const char *(*text)(void *arg, const char *path);
	/* Written in the save that is being judged; NULL: there is none, and what
	 * lies there counts. */
	bool (*fresh)(void *arg, const char *path);
	void *arg;
};

/* `path`: the unit or file, relative, valid during the call like `why` ("checkpoint-5 has no
 * trainer_state.json"). Each is told once. */
typedef void layout_rules_fn(void *arg, const char *path, const char *why);

/* By the rules of `profile` (may be NULL), and by those of the others that are unmistakable. */
void layout_rules_find_incomplete(const struct profile *profile, const struct layout_view *view,
				  layout_rules_fn *tell, void *arg);

/* A numbered checkpoint beside the one at `path` that has a higher number and holds a marker of
 * completeness; the caller frees. NULL: there is none. */
char *layout_rules_later_checkpoint(const struct profile *profile, const struct layout_view *view,
				    const char *path);

#endif
