#include "base/backoff.h"

#include <sys/random.h>

int64_t backoff_ms(unsigned tries, int64_t first_ms, int64_t most_ms, uint32_t random)
{
	int64_t bound = first_ms;

	for (unsigned i = 1; i < tries && bound < most_ms; i++)
		bound *= 2;
	if (bound > most_ms)
		bound = most_ms;
	/* 64 bits: the product of a random number and a bound does not fit 32. */
	return (int64_t)(((uint64_t)random * (uint64_t)(bound + 1)) >> 32);
}

uint32_t backoff_random(void)
{
	uint32_t random;

	return getrandom(&random, sizeof(random), 0) < 0 ? UINT32_MAX / 2 : random;
}
