/*
 * PURE. The page and the chart of `reprieve report`: from what the attempts of a job have done
 * (costs.h), a section of page.h.
 */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include "costs.h"
#include "page.h"

/* Per hour; 0: not given. */
struct report_prices {
	double spot, on_demand;
};

/* Fills an empty section; oldest attempt first. The newest attempts are drawn, all of them are in
 * the table. */
void report_page_fill(struct page_section *section, const char *job,
		      const struct attempt_costs *accounts, size_t count,
		      const struct report_prices *prices);

#endif
