/*
 * PURE. The name of a join's record: all that decides is in it, so that one listing of a thousand
 * members is enough, and nobody reads a record but for why it is refused:
 *
 *	join-<member>-<N>-<first after>-<turn>-<age>-<nonce>.<host>.json
 *
 * Behind the nonce stand "-<launch>-<its after>-<its time>", if the launcher has a name for the
 * start, and "-refused" of one that cannot be a member.
 */
#ifndef GANG_JOIN_NAME_H
#define GANG_JOIN_NAME_H

#include "storage/storage.h"

/* A character that a name in a store may not hold becomes "_". */
void gang_join_set_host(struct gang_join *join, const char *host);
/* The caller frees it. */
char *gang_join_format(const struct gang_join *join);
/* False: it is no such name. put_ms and birth_ms stay 0. */
bool gang_join_parse(const char *name, struct gang_join *join);

/*
 * Joins of one nonce are of one process, which has put another one and could not take back the
 * first: they become one. It cannot be a member if one of them says so; and it began when the
 * earliest says, since a put that took its time makes it look younger, never older. Returns how
 * many there are then.
 */
size_t gang_joins_unite(struct gang_join *joins, size_t count);

#endif
