/*
 * The .git of a new machine: it has the same commits, branches and index as the user's, and what is
 * committed there is not seen in the user's own. Objects are read from the user's (as an alternate,
 * which git never writes to); hooks, reflogs, git-lfs's and git-annex's files are left out.
 */
#ifndef GIT_DIRECTORY_H
#define GIT_DIRECTORY_H

#include "base/err.h"

/* `from`: a .git, be it a directory or, of a linked work tree or a submodule, the file that names
 * one. `to` must not exist. Blocks. ERR_NOT_FOUND: `from` is no repository, and nothing was made.
 */
int git_directory_make(const char *from, const char *to, struct err *err);

#endif
