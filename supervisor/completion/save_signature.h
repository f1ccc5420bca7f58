/*
 * PURE. What a save looks like from outside: how many files, and their names without the numbers in
 * them. Two saves of one job have the same shape; one that was broken off between two files has
 * another.
 */
#ifndef SAVE_SIGNATURE_H
#define SAVE_SIGNATURE_H

#include "detector.h"

#include <stdint.h>

/* Of the burst under way; 0 when nothing was written. */
uint64_t save_signature_of(const struct detector *detector);
/* Likewise, of the last of several numbered checkpoints in it. */
uint64_t save_signature_of_newest(const struct detector *detector);

/* What one path adds to the sum. */
uint64_t save_signature_of_path(const char *path);

#endif
