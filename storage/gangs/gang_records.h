/* PURE. The records of a gang (storage_gang.h, FORMAT.md): events, joins and parts. */
#ifndef GANG_RECORDS_H
#define GANG_RECORDS_H

#include "storage/format/format.h"
#include "storage/storage.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- an event in the log of an attempt --- */

/* The body of its record; the caller decrefs it. What its kind does not need is left out. */
json_t *gang_event_encode(const struct gang_event *event, uint32_t attempt, const char *created,
			  struct err *err);
/* ERR_CORRUPT: it is of another number or attempt, or makes no sense. ERR_VERSION: a newer version
 * of this program knows its kind. What its kind does not need is 0 or "". */
int gang_event_decode(json_t *body, uint32_t attempt, uint32_t number, struct gang_event *event,
		      struct err *err);
/* The same event: equal nonces, and all else too. */
bool gang_event_equal(const struct gang_event *a, const struct gang_event *b);

/* --- the name of a join --- */

/*
 * The name of a join's record: all that decides is in it, so that one listing of a thousand
 * members is enough, and nobody reads a record but for why it is refused:
 *
 *	join-<member>-<N>-<first after>-<turn>-<age>-<nonce>.<host>.json
 *
 * Behind the nonce stand "-<launch>-<its after>-<its time>", if the launcher has a name for the
 * start, and "-refused" of one that cannot be a member.
 */

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

/* --- the part of a member --- */

/*
 * Of a gang's checkpoint each member puts a part: a manifest of its own files, or an empty
 * one. When are the parts of all members one snapshot?
 *
 * A part may have files and no checkpoint (manifest.without_checkpoint): what lies beside one, at a
 * member that saves none. And once the jobs of all have ended, there may be a round that takes the
 * directories as they are (manifest.final): their steps are not compared.
 */

/* Parses "00003.json", the name of a part in its round. False for any other form. */
bool gang_part_parse_member(const char *name, uint32_t *member);

/* Of a part as a manifest the list of files is in pieces, which are not loaded; without a piece it
 * is empty. */
bool gang_part_has_checkpoint(const struct manifest *part);

/* The body of the record of a part; the caller decrefs it. */
json_t *gang_part_encode(const struct manifest *part, uint32_t member, struct err *err);
/* `id` is that of the round's snapshot. ERR_CORRUPT: it makes no sense, or is another's; or it is
 * void. Of a member that had gone before the round it has `gone`, and nothing else. */
int gang_part_decode(json_t *body, const char *job, struct snapshot_id id, uint32_t member,
		     struct manifest *part, struct err *err);

/* Whether the parts of all members, in their order, are of one checkpoint. ERR_UNFIT: they never
 * will be a snapshot; the sentence says why. */
int gang_parts_agree(const struct manifest *parts, size_t count, struct err *err);
/* The first that has a checkpoint, from which the whole takes its step; in a final round that of
 * the highest step, or without one. NULL: there is none. */
const struct manifest *gang_parts_leader(const struct manifest *parts, size_t count);

#endif
