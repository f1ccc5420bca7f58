/* PRIVATE to storage/, and PURE. Whose parts of a gang's snapshot are put into one directory. */
#ifndef GANG_PICK_H
#define GANG_PICK_H

#include "storage/format/format.h"
#include "storage/storage.h"

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
