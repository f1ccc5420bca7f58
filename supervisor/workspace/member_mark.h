/*
 * Marks of the members of a gang in our folder: each puts one before it joins. So whether two of
 * them have the same checkpoint directory, on a file system that several machines see, is proven
 * by a file and not by a name. All functions block.
 */
#ifndef MEMBER_MARK_H
#define MEMBER_MARK_H

#include "base/err.h"

#include <jansson.h>
#include <stdint.h>

struct workspace;

int workspace_mark_member(struct workspace *workspace, const char *nonce, struct err *err);
/*
 * `nonces` are those of all members, in their order. *member: another one than `own` has its mark
 * here; UINT32_MAX: nobody has. What earlier starts have left is removed.
 */
int workspace_find_member(struct workspace *workspace, json_t *nonces, const char *own,
			  uint32_t *member, struct err *err);

#endif
