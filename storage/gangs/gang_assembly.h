/* PRIVATE to storage/. The manifest of a gang's snapshot, made of the parts of all members. */
#ifndef GANG_ASSEMBLY_H
#define GANG_ASSEMBLY_H

#include "gang_records.h"
#include "storage/records/records.h"

/* A round, and the snapshot that comes of it. */
struct gang_round {
	struct storage *storage;
	struct snapshot_id id;
	struct cancel *cancel;
};

/* The caller frees it. */
char *gang_part_key(const struct storage *storage, struct snapshot_id id, uint32_t member);
/*
 * Once the parts of all members are there: reads them, several at once, looks up
 * all packs and whether the attempt is the newest, and puts the manifest. Returns 0 also if another
 * member has put the same. ERR_UNFIT: they never will be a snapshot. After any other error it may
 * be committed all the same. `err` is not NULL.
 */
int gang_assembly_commit(struct gang_round *round, struct err *err);

/* ERR_EXISTS: another attempt has taken over. */
int gang_assembly_check_attempt(const struct gang_round *round, struct err *err);

#endif
