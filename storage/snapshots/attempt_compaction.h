/*
 * PRIVATE: sums up old attempts, so that what a start or a retention run costs does not grow with
 * the attempts that ever were. FORMAT.md, "Summaries", argues why every reader sees the same
 * lineage at any instant.
 */
#ifndef ATTEMPT_COMPACTION_H
#define ATTEMPT_COMPACTION_H

#include "storage/records/records.h"

/* Attempts that keep records of their own: once there are SINGLES_MOST, all but SINGLES_LEAST of
 * them are summed up. */
#define ATTEMPT_SINGLES_LEAST 4
#define ATTEMPT_SINGLES_MOST 8

/* So many attempts at most are summed up at once. */
#define ATTEMPT_COMPACTION_AT_START 64
#define ATTEMPT_COMPACTION_AT_RETENTION 1024

/*
 * Puts a summary if there is enough to sum up, then removes records that are in one: those of
 * `most` attempts at most, 16 at a time. `listing` has been filled by job_records_list() or
 * job_records_list_lineage(); how old it is does not matter. Several may do this at once. A failure
 * leaves a store that says the same as before; what the store refuses to remove stays and does not
 * count.
 */
int attempt_compaction_run(struct storage *storage, const struct job_listing *listing, size_t most,
			   struct cancel *cancel, struct err *err);

#endif
