/*
 * PURE. Of a gang's checkpoint each member puts a part: a manifest of its own files, or an empty
 * one. When are the parts of all members one snapshot?
 *
 * A part may have files and no checkpoint (manifest.without_checkpoint): what lies beside one, at a
 * member that saves none. And once the jobs of all have ended, there may be a round that takes the
 * directories as they are (manifest.final): their steps are not compared.
 */
#ifndef GANG_PARTS_H
#define GANG_PARTS_H

#include "storage/format/format.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Parses "00003.json", the name of a part in its round. False for any other form. */
bool gang_part_parse_member(const char *name, uint32_t *member);

/* Of a part as a manifest the list of files is in pieces, which are not loaded; without a piece it
 * is empty. */
bool gang_part_has_checkpoint(const struct manifest *part);

/* The body of the record of a part; the caller decrefs it. */
json_t *gang_part_encode(const struct manifest *part, uint32_t member, struct err *err);
/* `id` is that of the round's snapshot. ERR_CORRUPT: it makes no sense, or is another's. */
int gang_part_decode(json_t *body, const char *job, struct snapshot_id id, uint32_t member,
		     struct manifest *part, struct err *err);

/* Whether both have the same files, of the same step, whoever has saved them when: of two tries of
 * one part the first stays, and is judged. */
bool gang_part_same_content(const struct manifest *a, const struct manifest *b);

/* Instead of the part of a member that had gone before the round. */
struct manifest gang_part_of_gone(void);

/* Whether the parts of all members, in their order, are of one checkpoint. ERR_UNFIT: they never
 * will be a snapshot; the sentence says why. */
int gang_parts_agree(const struct manifest *parts, size_t count, struct err *err);
/* The first that has a checkpoint, from which the whole takes its step; in a final round that of
 * the highest step, or without one. NULL: there is none. */
const struct manifest *gang_parts_leader(const struct manifest *parts, size_t count);

#endif
