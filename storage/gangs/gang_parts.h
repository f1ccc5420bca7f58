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

struct gang_part {
	/* Its list of files is in pieces, which are not loaded; without a piece it is empty. */
	struct manifest manifest;
	/* The newest event of the log that its checkpoint answers; 0: none. */
	uint32_t saw;
	/* The newest GANG_EVENT_GONE before its round; 0: none. So each part says itself of whose
	 * parts it is one. */
	uint32_t gone;
};
void gang_part_release(struct gang_part *part);
AUTO(struct gang_part, gang_part_release);

bool gang_part_is_empty(const struct gang_part *part);
bool gang_part_has_checkpoint(const struct gang_part *part);

/* The body of the record of a part; the caller decrefs it. */
json_t *gang_part_encode(const struct gang_part *part, uint32_t member, struct err *err);
/* `id` is that of the round's snapshot. ERR_CORRUPT: it makes no sense, or is another's. */
int gang_part_decode(json_t *body, const char *job, struct snapshot_id id, uint32_t member,
		     struct gang_part *part, struct err *err);

/* Whether both have the same files, of the same step, whoever has saved them when, and however it
 * is known that there are no others (`saw`, `asked`): of two tries of one part the first stays, and
 * is judged. */
bool gang_part_same_content(const struct gang_part *a, const struct gang_part *b);

/* Instead of the part of a member that had gone before the round. */
struct gang_part gang_part_of_gone(void);

/* Whether the parts of all members, in their order, are of one checkpoint, and of the members that
 * had not gone by event `gone` (0: of all). ERR_UNFIT: they never will be a snapshot; the sentence
 * says why. */
int gang_parts_agree(const struct gang_part *parts, size_t count, uint32_t gone, struct err *err);
/* The first that has a checkpoint, from which the whole takes its step; in a final round that of
 * the highest step, or without one. NULL: there is none. */
const struct gang_part *gang_parts_leader(const struct gang_part *parts, size_t count);

#endif
