/* What this process sees of a gang's snapshot: all of it, or one member's part. */
#ifndef MEMBER_VIEW_H
#define MEMBER_VIEW_H

#include "storage/format/format.h"
#include "storage_handle.h"

/* Whether this process is one of several members. */
bool storage_is_member(const struct storage *storage);

/* Leaves of the manifest, whose entries are not loaded yet, what this process sees: the part that
 * it is a member of, or that storage_gang_look_at() has named. ERR_UNFIT: it is of another number
 * of members. */
int member_view_cut(struct storage *storage, struct manifest *manifest, struct err *err);

#endif
