/* Compares two result files byte for byte. Blocks. */
#ifndef COMPARISON_H
#define COMPARISON_H

#include "drill/verdict.h"

#include <stdint.h>

/* *bytes: the size, if they are equal. A file that cannot be read counts as missing. */
enum comparison comparison_of_files(const char *undisturbed, const char *preempted,
				    uint64_t *bytes);

#endif
