/*
 * storage/gangs/: one snapshot of several machines: how their supervisors find each other, agree,
 * and commit together over the store alone. Read FORMAT.md here first.
 *
 * For the rest of storage/, through this header alone:
 *
 *	gang_commit.c		a member's part, and the commit of the snapshot of all
 *	gang_choice.c		what a member restores: its own part, or those of all
 *
 * Of this folder only:
 *
 *	gang_records.h		PURE: the records of a gang, and whether the parts of all agree
 *
 * The operations, declared in storage_gang.h and used through storage.h:
 *
 *	gang_join.c		how the members find each other at their start
 *	gang_log.c		what they agree upon, in one order
 */
#ifndef STORAGE_GANGS_H
#define STORAGE_GANGS_H

#include "storage/records/records.h"
#include "storage/storage.h"

/* --- gang_commit.c --- */

/* The caller frees it. */
char *gang_part_key(const struct storage *storage, struct snapshot_id id, uint32_t member);

/*
 * Puts the part, and waits until the snapshot of the round, which is request->id, is committed, by
 * whoever sees all parts first. After an error `fate` says what has become of the part; if that is
 * not GANG_FATE_LIES, the error is ERR_RETRY.
 */
int gang_commit(struct storage *storage, const struct save_request *request,
		const struct manifest *part, enum gang_part_fate *fate, struct cancel *cancel,
		struct err *err);

/*
 * Before a member saves for `next`. If its last save has ended without knowing what became of its
 * round, this looks: a snapshot that was committed after all is what the next part builds upon. Any
 * error is one of the store.
 */
int gang_commit_settle(struct storage *storage, struct snapshot_id next, struct cancel *cancel,
		       struct err *err);
/* The round is committed, and the index has what its part names. Removes the part. */
void gang_commit_settled(struct storage *storage, struct cancel *cancel);

/* --- gang_choice.c --- */

/* What was said about the files that this process restores of it, whose head this is: where those
 * of several members are, what this member has said about its own part, if it has one with files.
 * NULL: nothing; or ERR_UNFIT: it is of another number of members. Borrowed. */
json_t *gang_choice_about(struct storage *storage, struct manifest *manifest, struct err *err);

/* As job_record_get_manifest(), but as it is to be restored: of a gang's the parts that
 * gang_pick() names, in one directory. `clashes`: names of which one has been
 * chosen. ERR_UNFIT: it is of another number of members. */
int gang_choice_get_manifest(struct storage *storage, struct snapshot_id id,
			     struct manifest *manifest, struct gang_clashes *clashes,
			     struct cancel *cancel, struct err *err);

/*
 * The manifest has the entries of all parts, loaded, each below the directory of its member. These
 * directories are taken away. Of several entries of one name the one of `own` stays (a member that
 * is not in it: UINT32_MAX), else that of the lowest member; what lies below a name that is no
 * directory any more is left out. ERR_CORRUPT: an entry is below no member's directory.
 */
int gang_merge(struct manifest *manifest, uint32_t own, struct gang_clashes *clashes,
	       struct err *err);

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

/* --- gang_log.c --- */

/* Which of the members have a record "<prefix><member>.json"; `there` has one for each. One
 * listing.
 */
int gang_list_members(struct storage *storage, const char *prefix, uint32_t members, bool *there,
		      struct cancel *cancel, struct err *err);

#endif
