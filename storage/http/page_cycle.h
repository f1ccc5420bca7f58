/*
 * PURE. Whether a list that comes page by page goes in circles: a server or a proxy that does not
 * mind the token sends the same page for ever. Any circle is found, within three times its length,
 * by keeping one token (R. P. Brent, An improved Monte Carlo factorization algorithm, BIT 20, 1980,
 * section 2).
 */
#ifndef PAGE_CYCLE_H
#define PAGE_CYCLE_H

#include "base/cleanup.h"
#include "base/err.h"

#include <stddef.h>

struct page_cycle {
	char *kept; /* the token that would come again */
	size_t turned, due;
};

/* For each token that leads to a next page; it is copied. ERR_FAILED where it came before. */
int page_cycle_check(struct page_cycle *pages, const char *token, struct err *err);
void page_cycle_release(struct page_cycle *pages);
AUTO(struct page_cycle, page_cycle_release);

#endif
