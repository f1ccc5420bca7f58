/*
 * PURE. How long to wait before the next try: a random time up to a bound that doubles from try to
 * try, so that a thousand machines that were refused together do not return together ("full
 * jitter").
 */
#ifndef BASE_BACKOFF_H
#define BASE_BACKOFF_H

#include <stdint.h>

/* A value of `random` for no jitter: for a client that is alone, as a VM that asks its host. */
#define BACKOFF_WHOLE UINT32_MAX

struct backoff {
	/* tries so far; 0 counts as 1 */
	unsigned tries;
	/* the bound after the first try, and its maximum */
	int64_t first_ms, most_ms;
	/* any 32 bits; the wait is proportional to them */
	uint32_t random;
	/* Retry-After of the server; 0 or less: none. The wait is added to it, and the caller
	 * limits it. */
	int64_t retry_after_ms;
};

/* Milliseconds: 0 to the bound (inclusive), plus Retry-After. */
int64_t backoff_ms(const struct backoff *backoff);

/* A random number for `random`, from the kernel; half of the range if the kernel has none. Not
 * PURE. Does not block once the system has booted. */
uint32_t backoff_random(void);

#endif
