/* A directory: file:///DIR. The model for the other stores. What each operation promises is said
 * in object_store.h. */
#ifndef FILE_STORE_H
#define FILE_STORE_H

#include "object_store.h"

extern const struct store_ops file_store_ops;

#endif
