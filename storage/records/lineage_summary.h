/*
 * PURE. The summary of a job's old attempts: one record that says of every attempt up to a number
 * what lineage needs, so that their own records can go. FORMAT.md, "Summaries", has the rules;
 * job_listing.c reads it, attempt_compaction.c writes it.
 */
#ifndef LINEAGE_SUMMARY_H
#define LINEAGE_SUMMARY_H

#include "base/err.h"
#include "lineage.h"

#include <jansson.h>

struct lineage_summary {
	/* Of the attempts up to this one, only those below are real. 0: there is no summary. */
	uint32_t through;
	struct lineage_attempt *attempts; /* ascending */
	size_t count;
	/* The bodies of the newest of them, ascending: see lineage_summary_body(). Owned; may be
	 * NULL. */
	json_t *recent;
};

/* The bodies of an attempt's claim and end record, as an item of `recent` and of an archive. Either
 * may be NULL: it was lost, or there was none. They are borrowed. NULL: no memory. */
json_t *lineage_summary_body(uint32_t number, json_t *claim, json_t *end);

/* The body of the record, without what is for people; the caller decrefs. NULL: no memory. */
json_t *lineage_summary_encode(const struct lineage_summary *summary);

/* Decodes and checks it. `through` is that of the key it was read from. ERR_CORRUPT: nothing is to
 * be freed. Else the caller releases it. */
int lineage_summary_decode(json_t *body, uint32_t through, struct lineage_summary *summary,
			   struct err *err);

/* Whether everything that `part` says is in `whole` as well: what `part` was made of may go. */
bool lineage_summary_covers(const struct lineage_summary *whole,
			    const struct lineage_summary *part);

void lineage_summary_release(struct lineage_summary *summary);
AUTO(struct lineage_summary, lineage_summary_release);

#endif
