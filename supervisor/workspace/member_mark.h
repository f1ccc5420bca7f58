/*
 * Marks of the members of a gang in our folder: each puts one before it joins, and takes it away
 * once all have started. So which of them have the same checkpoint directory, on a file system that
 * several machines see, is proven by a file and not by a name. All functions block.
 */
#ifndef MEMBER_MARK_H
#define MEMBER_MARK_H

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct workspace;

int workspace_mark_member(struct workspace *workspace, const char *nonce, struct err *err);
void workspace_unmark_member(struct workspace *workspace, const char *nonce);
/* Whether others than `own` are about to start here. */
bool workspace_has_other_mark(struct workspace *workspace, const char *own);
/*
 * `nonces` are those of all members, in their order. Sets here[member] for each that has its mark
 * here, which is so for `own`. Puts that anew first: a machine that has the directory from a server
 * then reads again who else is in it. Marks of a day ago are removed.
 */
int workspace_find_members(struct workspace *workspace, json_t *nonces, const char *own, bool *here,
			   struct err *err);

#endif
