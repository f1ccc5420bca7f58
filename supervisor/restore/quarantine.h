/*
 * Before the job starts, moves torn files out of the checkpoint directory, so that a script which
 * takes "the newest checkpoint" takes a complete one. Only what is known to be torn is moved: by
 * its format, by a marker that is missing, or because its writer ended while it was being written
 * (reconcile.h). They are moved to DIR.reprieve/quarantine,
 * from where what the save under way at the end had written is removed when the next checkpoint is
 * durable. What else is torn, or had to make room for a snapshot, may be of the user's own, and is
 * never removed: a warning says when it has grown large.
 * The functions that do I/O block.
 */
#ifndef QUARANTINE_H
#define QUARANTINE_H

#include "base/err.h"
#include "frameworks/frameworks.h"
#include "reconcile.h"
#include "workspace/workspace.h"

#include <stdbool.h>
#include <stdint.h>

/* Torn by its format, or by the rules of the profile (NULL: only the rules that hold for all);
 * `marker_elsewhere`: see layout_view. What is no part of a checkpoint (file_patterns_kind()) is
 * not moved. Logs which files it moves, and where to. A missing directory is fine. Adds the files
 * that it moves to `moved`, but not those that are moved with their whole directory. `whole` gets
 * the files that are whole by a format which records its end. NULL: not wanted. */
int quarantine_torn(struct workspace *workspace, const struct profile *profile,
		    const struct file_patterns *patterns, bool marker_elsewhere,
		    struct path_list *moved, struct path_set *whole, struct err *err);

/* Moves these files aside, and the symbolic links beside them that name them. Logs why, and where
 * to. */
int quarantine_files(struct workspace *workspace, const struct torn_file *files, size_t count,
		     struct err *err);

/* PURE. Bytes: `held` in the quarantine, `own` in the checkpoint directory, `available` on their
 * file system. */
bool quarantine_is_large(uint64_t held, uint64_t own, uint64_t available);

/* Removes what is torn where the disk has no room for another checkpoint beside it, and logs one
 * line if the rest is large, with the command that removes it. */
void quarantine_make_room(struct workspace *workspace);

/* The command that copies what lies in `where` back, for a shell. The caller frees. */
char *quarantine_command_back(const struct workspace *workspace, const char *where);
/* Of what is whole, and was moved there because its save was not known to be: how it comes back,
 * and how a job keeps from that. */
void quarantine_log_way_back(const struct workspace *workspace, const char *where);

#endif
