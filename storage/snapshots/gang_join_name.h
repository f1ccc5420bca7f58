/*
 * PURE. The name of a join's record: all that decides is in it, so that one listing of a thousand
 * members is enough, and nobody reads a record but for the host in it:
 *
 *	join-<member>-<N>-<first after>-<turn>-<age>-<nonce>.json
 *	join-<member>-<N>-<first after>-<turn>-<age>-<nonce>-<launch>-<its after>-<its time>.json
 */
#ifndef GANG_JOIN_NAME_H
#define GANG_JOIN_NAME_H

#include "storage/storage.h"

/* The caller frees it. */
char *gang_join_format(const struct gang_join *join);
/* False: it is no such name. put_ms and birth_ms stay 0. */
bool gang_join_parse(const char *name, struct gang_join *join);

#endif
