/* file:///DIR: a store in a directory. The model for the other stores. object_store.h has the
 * contract of each operation. */
#ifndef FILE_STORE_H
#define FILE_STORE_H

#include "object_store.h"

extern const struct store_ops file_store_ops;

#endif
