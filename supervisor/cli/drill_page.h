/* PURE. The page of `reprieve drill`: for each machine that was taken away, the time from the
 * notice to the deadline, to scale, and what it was used for. */
#ifndef DRILL_PAGE_H
#define DRILL_PAGE_H

#include "drill/drill.h"
#include "page.h"

/* Fills an empty section. */
void drill_page_fill(struct page_section *section, const struct scenario *scenario);

#endif
