/*
 * PURE. How long to wait before the next try of something that failed: a bound that doubles from
 * try to try, and a random part of it, so that a thousand machines that were refused together do
 * not come back together ("full jitter").
 */
#ifndef BASE_BACKOFF_H
#define BASE_BACKOFF_H

#include <stdint.h>

/* As `random`: the whole bound, no jitter. For who is alone in asking, as a VM asks its host. */
#define BACKOFF_WHOLE UINT32_MAX

struct backoff {
	/* Made so far; 0 counts as 1. */
	unsigned tries;
	/* The bound after the first try, and the one it never exceeds. */
	int64_t first_ms, most_ms;
	/* Any 32 bits; the wait is in proportion to them. */
	uint32_t random;
	/* What the server asked for (Retry-After); 0 or less: nothing. The wait begins after it,
	 * and the caller limits it. */
	int64_t retry_after_ms;
};

/* Milliseconds, from 0 to the bound (both may come), and Retry-After on top. */
int64_t backoff_ms(const struct backoff *backoff);

/* A random number for the above, from the kernel. Not PURE; does not block once the system has
 * started, and half of the range where there is none. */
uint32_t backoff_random(void);

#endif
