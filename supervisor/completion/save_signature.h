/*
 * PURE. A hash over the names of a save's files, with every number in them replaced by 0. Two
 * complete saves of one job have the same signature. A save that was cut off between two files has
 * another one.
 */
#ifndef SAVE_SIGNATURE_H
#define SAVE_SIGNATURE_H

#include "detector.h"

#include <stdint.h>

/* Signature of the burst under way; 0: nothing was written. */
uint64_t save_signature_of(const struct detector *detector);
/* The same without the earlier of several numbered checkpoints in the burst. */
uint64_t save_signature_of_newest(const struct detector *detector);

/* The summand of one path: the signature is the sum over all paths. */
uint64_t save_signature_of_path(const char *path);

#endif
