/*
 * Before the job starts: what is torn in the checkpoint directory is moved aside, so that a script which takes "the newest one" takes a
 * whole one. Blocks.
 */
#ifndef QUARANTINE_H
#define QUARANTINE_H

#include "base/err.h"
#include "profile.h"
#include "workspace.h"

/* By content, and by the rules of the profile (NULL: only the unmistakable ones). Says what it moves and where to. A directory that
 * is not there holds nothing. */
int quarantine_torn(struct workspace *workspace, const struct profile *profile, struct err *err);

#endif
