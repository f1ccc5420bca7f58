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

/* How long to wait after the `tries`-th try (0 counts as the first): 0 to the bound (inclusive), in
 * proportion to `random`. The bound is `first_ms` at first, doubles, and is at most `most_ms`. */
int64_t backoff_ms(unsigned tries, int64_t first_ms, int64_t most_ms, uint32_t random);

/* A random number for `random`, from the kernel; half of the range if the kernel has none. Not
 * PURE. Does not block once the system has booted. */
uint32_t backoff_random(void);

#endif
