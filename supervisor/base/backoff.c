#include "base/backoff.h"

#include <sys/random.h>

int64_t backoff_ms(const struct backoff *backoff)
{
	int64_t bound = backoff->first_ms;

	for (unsigned i = 1; i < backoff->tries && bound < backoff->most_ms; i++)
		bound *= 2;
	if (bound > backoff->most_ms)
		bound = backoff->most_ms;
	/* 64 bits: the product of a random number and a bound does not fit 32. */
	bound = (int64_t)(((uint64_t)backoff->random * (uint64_t)(bound + 1)) >> 32);
	return backoff->retry_after_ms > 0 ? bound + backoff->retry_after_ms : bound;
}

uint32_t backoff_random(void)
{
	uint32_t random;

	return getrandom(&random, sizeof(random), 0) < 0 ? UINT32_MAX / 2 : random;
}
