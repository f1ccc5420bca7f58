/* PRIVATE to the files that define a struct xxh3_code: the functions in it, compiled as they are.
 */
#ifndef XXH3_FUNCTIONS_H
#define XXH3_FUNCTIONS_H

#include "xxh3_code.h"

static XXH64_hash_t bytes64(const void *data, size_t size)
{
	return XXH3_64bits(data, size);
}

static XXH128_hash_t bytes128(const void *data, size_t size, XXH64_hash_t seed)
{
	return XXH3_128bits_withSeed(data, size, seed);
}

static XXH3_state_t *new_state(void)
{
	return XXH3_createState();
}

static void free_state(XXH3_state_t *state)
{
	(void)XXH3_freeState(state);
}

static void begin64(XXH3_state_t *state)
{
	(void)XXH3_64bits_reset(state);
}

static void add64(XXH3_state_t *state, const void *data, size_t size)
{
	(void)XXH3_64bits_update(state, data, size);
}

static XXH64_hash_t end64(const XXH3_state_t *state)
{
	return XXH3_64bits_digest(state);
}

static void begin128(XXH3_state_t *state, XXH64_hash_t seed)
{
	(void)XXH3_128bits_reset_withSeed(state, seed);
}

static void add128(XXH3_state_t *state, const void *data, size_t size)
{
	(void)XXH3_128bits_update(state, data, size);
}

static XXH128_hash_t end128(const XXH3_state_t *state)
{
	return XXH3_128bits_digest(state);
}

#define XXH3_FUNCTIONS                                                                             \
	{                                                                                          \
		bytes64, bytes128, new_state, free_state, begin64, add64, end64, begin128, add128, \
			end128                                                                     \
	}

#endif
