/* Azure Blob Storage: az://ACCOUNT/CONTAINER/PREFIX. What each operation promises
 * is said in object_store.h. */
#ifndef AZURE_STORE_H
#define AZURE_STORE_H

#include "storage/backend/backend.h"

extern const struct store_ops azure_store_ops;

#endif
