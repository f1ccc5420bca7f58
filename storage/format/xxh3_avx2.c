/* Compiled with -mavx2 (CMakeLists.txt). */
#define XXH_INLINE_ALL
#include "xxh3_code.h"

const struct xxh3_code xxh3_avx2 = XXH3_FUNCTIONS;
