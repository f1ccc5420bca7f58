/* PRIVATE to storage/. Reads who started from what: the claims of the attempts that are listed. A
 * claim never changes, so a process reads each once. */
#ifndef LISTED_CLAIMS_H
#define LISTED_CLAIMS_H

#include "base/cleanup.h"

#include "lineage.h"

#include <pthread.h>

struct job_listing;

/* The claims that a process has read. In a store that was emptied, another one has the number, and
 * was put at another time. Thread-safe. */
struct known_claims {
	pthread_mutex_t mutex;
	struct lineage_attempt *items;
	size_t count;
};
/* Ignores one whose claimed_ms is unknown. */
void known_claims_add(struct known_claims *known, const struct lineage_attempt *claim);

/* Fills the attempts of the lineage. ERR_VERSION: another version wrote one. */
int listed_claims_read(struct storage *storage, const struct job_listing *listing,
		       struct cancel *cancel, struct err *err);
/* Only those that lineage_next_unread() asks for: one or two, as a rule. */
int listed_claims_read_chain(struct storage *storage, const struct job_listing *listing,
			     uint32_t newest, uint32_t until, struct cancel *cancel,
			     struct err *err);

#endif
