/* PRIVATE. Reads who started from what: the claims of the attempts that are listed, but for those
 * that are summed up. */
#ifndef LISTED_CLAIMS_H
#define LISTED_CLAIMS_H

#include "job_records.h"

/* Fills the attempts of the lineage. Each claim is one small request, 16 at a time, and none for
 * what this process has read before. *vanished: one of them was listed and is not there. */
int listed_claims_read(struct storage *storage, const struct job_listing *listing, bool *vanished,
		       struct cancel *cancel, struct err *err);

#endif
