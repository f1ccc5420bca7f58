/*
 * The working directory of a new machine: its own copy of the user's, without the paths that the
 * job writes, so that nothing that one machine writes is seen by the next, and the user's own files
 * stay as they are. RULE: nothing of the user's that may be opened for writing is reached through
 * it. Its directories are real, its files are copies, and share the content where the file system
 * can; what finds no room is left out, and named. Links into the user's directory lead into the
 * machine's, and .git is the machine's own (git_directory.h).
 *
 * The exception: a directory that is not looked into (tree_look.h), as a virtual environment or one
 * of too many entries, is a link to the user's own. shared_directories.h keeps these from being
 * written to, where it can; what else is written in the user's own is seen by a second look
 * (sandbox_look_again()).
 */
#ifndef MACHINE_DIRECTORY_H
#define MACHINE_DIRECTORY_H

#include "base/err.h"
#include "tree_look.h"

#include <stddef.h>
#include <stdint.h>

/* "./out//ckpt/" -> "out/ckpt"; the caller frees. NULL: the path is absolute, leads upwards, or
 * names the directory itself, so it cannot be left out. */
char *machine_directory_relative(const char *path);

/* The same, but also accepts an absolute path below the absolute directory `from`. Compares the
 * strings only; links are not resolved. */
char *machine_directory_below(const char *path, const char *from);

#define MACHINE_TEXT 160

/*
 * Creates `to` with what `look` has of `from`; both are absolute. Left out is what lies at the
 * `excluded` paths, by any name and by any link: relative to `from`
 * (machine_directory_relative()), or absolute. `room`: how many bytes may be copied. `left_out`
 * names what found none, and what cannot be copied: "data/a.bin and 2 more"; "": nothing.
 */
int machine_directory_make(const struct tree_look *look, const char *from, const char *to,
			   const char *const *excluded, size_t count, uint64_t room,
			   char left_out[MACHINE_TEXT], struct err *err);

#endif
