/*
 * PURE. The page and the chart of `reprieve report`: from what the attempts of a job have done
 * (costs.h) and from their ledgers, a section of page.h.
 */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include "costs.h"
#include "page.h"

/* Where an attempt's phases lie, by the wall clock of its machine. */
struct timeline {
	struct page_bar bar;    /* owned; its label is empty */
	int64_t from_ms, to_ms; /* from the claim to the last that is known; 0: nothing is */
};

/* Call it with the account as the ledger has completed it. Releases what was there. */
void timeline_read(struct timeline *timeline, const struct attempt_costs *costs,
		   const struct bytes *ledger);

/* Per hour; 0: not given. */
struct report_prices {
	double spot, on_demand;
};

/* Fills an empty section; oldest attempt first. The newest attempts are drawn, all of them are in
 * the table. */
void report_page_fill(struct page_section *section, const char *job,
		      const struct attempt_costs *accounts, const struct timeline *timelines,
		      size_t count, const struct report_prices *prices);

#endif
