/* A copy of one file, which shares the content where the file system can. */
#ifndef FILE_COPY_H
#define FILE_COPY_H

#include "base/err.h"

#include <stdint.h>

/*
 * With its mode and time: Python compares that with what it has compiled. `to` must not exist.
 * `room`: how many bytes may still be written, and becomes less by the size; what shares the
 * content costs none. Blocks. ERR_NO_SPACE: there is no room. ERR_NOT_FOUND or
 * ERR_DENIED: it cannot be read. Then nothing was made.
 */
int file_copy(const char *from, const char *to, uint64_t *room, struct err *err);

#endif
