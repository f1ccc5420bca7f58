/* file:///DIR: a store in a directory. The model for the other stores. object_store.h has the
 * contract of each operation. */
#ifndef FILE_STORE_H
#define FILE_STORE_H

#include "object_store.h"

extern const struct store_ops file_store_ops;

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
