/*
 * PURE. Detects a listing whose pages repeat: a server or proxy that ignores the token sends the
 * same page forever. Keeping one token finds any cycle within three times its length (R. P. Brent,
 * An improved Monte Carlo factorization algorithm, BIT 20, 1980, section 2).
 */
#ifndef PAGE_CYCLE_H
#define PAGE_CYCLE_H

#include "base/cleanup.h"
#include "base/err.h"

#include <stddef.h>

struct page_cycle {
	char *kept; /* the token to compare with */
	size_t turned, due;
};

/* Call this for the token of each next page; it is copied. ERR_FAILED: the pages repeat. */
int page_cycle_check(struct page_cycle *pages, const char *token, struct err *err);
void page_cycle_release(struct page_cycle *pages);
AUTO(struct page_cycle, page_cycle_release);

#endif
