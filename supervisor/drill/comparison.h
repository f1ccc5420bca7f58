/* Compares two result files byte for byte. Blocks. */
#ifndef COMPARISON_H
#define COMPARISON_H

#include "drill/verdict.h"

#include <stdint.h>

/* A file that cannot be read counts as missing; then the sizes mean nothing. */
enum comparison comparison_of_files(const char *undisturbed, const char *preempted,
				    struct compared_sizes *sizes);

#endif
