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

/*
 * In the user's own directory, which all machines can see, when none of their processes is left.
 * Hidden files are left out, which editors and the like change all the time. What a
 * process holds open now is not theirs: the log to which the output of the drill goes. Adds
 * to `text` what it does not name yet. Blocks.
 */
void written_to_users_own(const struct tree_look *before, const struct tree_look *after,
			  char text[WRITTEN_TEXT]);

#endif
