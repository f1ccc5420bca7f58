/* Which files were written between two looks at a directory (tree_look.h), for people. */
#ifndef WRITTEN_FILES_H
#define WRITTEN_FILES_H

#include "tree_look.h"

#define WRITTEN_TEXT 240

/*
 * PURE. In a machine's own directory, beside its checkpoints and `result` (may be NULL): what is
 * lost with the machine. "out/state.json and 2 more files", the newest first; "": nothing. Hidden
 * files are left out.
 */
void written_by_machine(const struct tree_look *before, const struct tree_look *after,
			const char *checkpoint_dir, const char *result, char text[WRITTEN_TEXT]);

/* How a machine came to write there: what would end it differs. */
enum users_way {
	USERS_BY_PATH,   /* by its absolute path */
	USERS_BY_MLFLOW, /* as an mlruns/<experiment>/meta.yaml says, by its absolute path */
	USERS_SHARED,    /* in a directory that the machines have a link to (machine_directory.h) */
};

/* PURE. `one`: it differs from what was `before`. */
enum users_way written_way(const struct tree_look *before, const struct tree_entry *one);

/* PURE. Adds a path to `text`, if that does not name it yet. */
void written_add(const char *path, char text[WRITTEN_TEXT]);

/*
 * In the user's own directory, which all machines can see, when none of their processes is left.
 * Hidden files are left out, which editors and the like change all the time. What a
 * process holds open now is not theirs: the log to which the output of the drill goes. Adds
 * to `text` what it does not name yet; sets `way` if that was empty. Blocks.
 */
void written_to_users_own(const struct tree_look *before, const struct tree_look *after,
			  char text[WRITTEN_TEXT], enum users_way *way);

#endif
