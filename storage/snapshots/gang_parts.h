/*
 * PURE. Of a gang's checkpoint, which is known by its step, each member puts a part. When is it a
 * snapshot, and when will it never be one?
 */
#ifndef GANG_PARTS_H
#define GANG_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gang_part {
	int64_t step;
	uint32_t member;
	uint32_t sequence; /* of the member's save: the highest of one step counts */
};

/* Parses "000000000100/00003-000007.json". False for any other form. */
bool gang_part_parse(const char *name, struct gang_part *part);
/* The same as text; the caller frees. */
char *gang_part_format(const struct gang_part *part);

/* Parses "00003.json", the name of a part in its round. False for any other form. */
bool gang_part_parse_member(const char *name, uint32_t *member);

enum gang_parts_state {
	GANG_PARTS_WAITING,
	GANG_PARTS_COMPLETE,
	/* A member has gone on to a later step, and left this one out: members put their parts in
	 * the order of the steps. */
	GANG_PARTS_LEFT_OUT,
};

struct gang_parts_verdict {
	enum gang_parts_state state;
	uint32_t there;  /* so many members have put theirs */
	uint32_t absent; /* WAITING, LEFT_OUT: the first one that has not */
	int64_t later;   /* LEFT_OUT: where that member is */
};

struct gang_parts_verdict gang_parts_judge(const struct gang_part *parts, size_t count,
					   uint32_t members, int64_t step);

/* The part of that member that counts for this step, or NULL. */
const struct gang_part *gang_parts_find(const struct gang_part *parts, size_t count,
					uint32_t member, int64_t step);

#endif
