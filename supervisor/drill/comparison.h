/* Are two results the same, byte for byte? Blocks. */
#ifndef COMPARISON_H
#define COMPARISON_H

#include "drill/verdict.h"

#include <stdint.h>

/* `bytes`: the size where they are equal. What cannot be read is missing. */
enum comparison comparison_of_files(const char *undisturbed, const char *preempted,
				    uint64_t *bytes);

#endif
