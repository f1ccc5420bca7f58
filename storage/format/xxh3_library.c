#include "xxh3_functions.h"

const struct xxh3_code xxh3_library = XXH3_FUNCTIONS;
