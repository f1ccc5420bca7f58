/*
 * PRIVATE: attempts are forgotten with their snapshots. The newest ATTEMPTS_KEPT stay, for reports;
 * an older one stays while a snapshot of it does, and while the states of the snapshots that there
 * are depend on it. So a listing has few attempts, however many there ever were.
 */
#ifndef ATTEMPT_FORGET_H
#define ATTEMPT_FORGET_H

#include "storage/records/records.h"

#define ATTEMPTS_KEPT 64

/* PURE. So many newer attempts are listed that one of this number would have been forgotten: its
 * number was not free. */
bool attempt_is_long_past(const struct lineage *lineage, uint32_t number);

/* PURE. How many attempts have no snapshot, beside the newest. */
size_t attempt_forget_candidates(const struct lineage *lineage);

/* PURE. The attempts that may go, oldest first, `most` at most: `numbers` has room for them. All
 * claims of the lineage were read. Returns how many. */
size_t attempt_forget_select(const struct lineage *lineage, uint32_t *numbers, size_t most);

/* Removes the records and the notes of `most` attempts at most. What the store refuses to remove
 * stays. `listing` is that of job_records_list_lineage(), or a later one; it reads what claims were
 * not read. */
int attempt_forget_run(struct storage *storage, const struct job_listing *listing, size_t most,
		       struct cancel *cancel, struct err *err);

#endif
