/* PRIVATE to storage/. The manifest of a gang's snapshot, made of the parts of all members. */
#ifndef GANG_ASSEMBLY_H
#define GANG_ASSEMBLY_H

#include "gang_records.h"
#include "storage/records/records.h"

/* One save of a member, in one round. */
struct gang_round {
	struct storage *storage;
	const struct save_request *request;
	struct cancel *cancel;
	/* Who had gone before it, of all members: they give no part; and how many do. */
	bool *gone;
	uint32_t present;
	/* What is to be saved, with the nonce that it was put under. */
	const struct manifest *own;
	/* An earlier call for this round has put a part; it has other files. */
	bool earlier_part, other_files;
};

/* Once `storage` and `request` are there: finds out who had gone. The caller releases. */
int gang_round_begin(struct gang_round *round, struct err *err);
void gang_round_release(struct gang_round *round);
AUTO(struct gang_round, gang_round_release);

/* The caller frees it. */
char *gang_part_key(const struct storage *storage, struct snapshot_id id, uint32_t member);
/* The part of a member in the round of `id`. ERR_NOT_FOUND, ERR_CORRUPT, ERR_VERSION. */
int gang_part_read(struct storage *storage, struct snapshot_id id, uint32_t member,
		   struct manifest *part, struct cancel *cancel, struct err *err);

/*
 * Once the parts of all members are there that had not gone: reads them, several at once, looks up
 * all packs and whether the attempt is the newest, and puts the manifest. Returns 0 also if another
 * member has put the same. ERR_UNFIT: they never will be a snapshot. After any other error it may
 * be committed all the same. `err` is not NULL.
 */
int gang_assembly_commit(struct gang_round *round, struct err *err);

/* ERR_EXISTS: another attempt has taken over. */
int gang_assembly_check_attempt(const struct gang_round *round, struct err *err);

#endif
