/*
 * PRIVATE to checksum.c. PURE. XXH3 as functions that are compiled once for any processor, from the
 * library (checksum.c), and once for those with AVX2, from the library's header (xxh3_avx2.c):
 * distributions build the library for the oldest processor that they support, and that is half as
 * fast. A state is of the code that has made it: the two may be of different versions.
 */
#ifndef XXH3_CODE_H
#define XXH3_CODE_H

#include <xxhash.h>

struct xxh3_code {
	XXH128_hash_t (*bytes)(const void *data, size_t size);
	/* NULL: out of memory. */
	XXH3_state_t *(*new_state)(void);
	XXH_errorcode (*free_state)(XXH3_state_t *state);
	XXH_errorcode (*begin)(XXH3_state_t *state);
	XXH_errorcode (*add)(XXH3_state_t *state, const void *data, size_t size);
	XXH128_hash_t (*end)(const XXH3_state_t *state);
};

/* The functions as they are compiled in the file that names this. */
#define XXH3_FUNCTIONS                                                              \
	{                                                                           \
		XXH3_128bits, XXH3_createState, XXH3_freeState, XXH3_128bits_reset, \
			XXH3_128bits_update, XXH3_128bits_digest                    \
	}

extern const struct xxh3_code xxh3_library;
#ifdef REPRIEVE_XXH3_AVX2
extern const struct xxh3_code xxh3_avx2;
#endif

/* The fastest that runs here. */
static inline const struct xxh3_code *xxh3_code(void)
{
#ifdef REPRIEVE_XXH3_AVX2
	if (__builtin_cpu_supports("avx2"))
		return &xxh3_avx2;
#endif
	return &xxh3_library;
}

#endif
