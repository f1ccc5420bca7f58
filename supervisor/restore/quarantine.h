/*
 * Before the job starts: what is torn in the checkpoint directory is moved aside, so that a script
 * which takes "the newest one" takes a whole one. Blocks. Nothing is ever removed from there: what
 * is torn may be of use to somebody, and lies among files of the user's own that a restore or a
 * judgement has moved aside. So it is said when it has become much.
 */
#ifndef QUARANTINE_H
#define QUARANTINE_H

#include "base/err.h"
#include "frameworks/frameworks.h"
#include "workspace/workspace.h"

#include <stdbool.h>
#include <stdint.h>

/* By content, and by the rules of the profile (NULL: only the unmistakable ones). Says what it
 * moves and where to. A directory that is not there holds nothing. */
int quarantine_torn(struct workspace *workspace, const struct profile *profile, struct err *err);

/* PURE. `held` there, `own` in the checkpoint directory, `available` on their file system. */
bool quarantine_is_large(uint64_t held, uint64_t own, uint64_t available);

/* In one line, if it is much, with the command that empties it. */
void quarantine_warn_if_large(const struct workspace *workspace);

#endif
