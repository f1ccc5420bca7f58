/* PRIVATE to storage/. What a member of a gang restores of a snapshot: its own part, or the parts
 * of several in one directory. */
#ifndef GANG_CHOICE_H
#define GANG_CHOICE_H

#include "storage/records/records.h"

/* Whether the parts of several members are to be restored from it, whose head this is. */
bool gang_choice_is_joined(const struct storage *storage, const struct manifest *manifest);

/* What this member has said about its own part, if it has one with files; else NULL. Borrowed. */
json_t *gang_choice_own_about(const struct storage *storage, const struct manifest *manifest);

/* As job_record_get_manifest(), but as it is to be restored: of a gang's the parts that
 * gang_pick() names, in one directory. `clashes`: names of which one has been
 * chosen. ERR_UNFIT: it is of another number of members. */
int gang_choice_get_manifest(struct storage *storage, struct snapshot_id id,
			     struct manifest *manifest, struct gang_clashes *clashes,
			     struct cancel *cancel, struct err *err);

/* Who restores. */
struct gang_taker {
	enum gang_parts_choice choice;
	/* 0: who looks at all of it as it is. */
	uint32_t members, member;
	/* Who else has its directory, of all members in their order; NULL: nobody. */
	const bool *sharers;
};

/*
 * The files of a directory are those of all who have it now, each of which may have been kept by
 * another one then: the parts of all that have kept them. With GANG_PARTS_AUTO all parts, if those
 * have much less than another one. `takes` has one for each part; returns how many are taken. 0: of
 * what is of another number of members (gang_manifest_is_of()), or of one machine, there is nothing
 * to choose.
 */
size_t gang_pick(const struct manifest_part *parts, size_t count, const struct gang_taker *taker,
		 bool *takes);

#endif
