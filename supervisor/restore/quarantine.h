/*
 * Before the job starts, moves torn files out of the checkpoint directory, so that a script which
 * takes "the newest checkpoint" takes a complete one. They are moved to DIR.reprieve/quarantine,
 * from where nothing is ever removed: it may hold files of the user's own. A warning says when it
 * has grown large. Both functions block.
 */
#ifndef QUARANTINE_H
#define QUARANTINE_H

#include "base/err.h"
#include "frameworks/frameworks.h"
#include "workspace/workspace.h"

#include <stdbool.h>
#include <stdint.h>

/* Torn by its format, or by the rules of the profile (NULL: only the rules that hold for all). Logs
 * which files it moves, and where to. A missing directory is fine. */
int quarantine_torn(struct workspace *workspace, const struct profile *profile, struct err *err);

/* PURE. Bytes: `held` in the quarantine, `own` in the checkpoint directory, `available` on their
 * file system. */
bool quarantine_is_large(uint64_t held, uint64_t own, uint64_t available);

/* Logs one line if the quarantine is large, with the command that empties it. */
void quarantine_warn_if_large(const struct workspace *workspace);

#endif
