/*
 * How an object of file:// gets its name: by link(2), or, where the file system has no hard links,
 * by a rename that spares what is there. Both are refused if the name is taken; whether that holds
 * is proven when a store is opened for writing.
 */
#ifndef FILE_PUBLISH_H
#define FILE_PUBLISH_H

#include "base/err.h"

/* 0, or -1 with errno: EEXIST, the name is taken; EINVAL, the file system has neither of the two.
 * The temporary file may keep its name. Blocks. */
int file_publish_if_absent(const char *temporary, const char *path);

/*
 * Gives a name below `directory` twice, and once to two at the same time; leaves nothing behind.
 * ERR_UNFIT: two got it, or there is no way to give it once; the sentence says what to do. 0 also
 * where it cannot be tried (no room, no permission): whoever writes finds out. Blocks.
 */
int file_publish_prove(const char *directory, struct err *err);

#endif
