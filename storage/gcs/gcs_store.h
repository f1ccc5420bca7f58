/* Google Cloud Storage: gs://BUCKET/PREFIX. What each operation promises is said
 * in object_store.h. */
#ifndef GCS_STORE_H
#define GCS_STORE_H

#include "storage/backend/backend.h"

extern const struct store_ops gcs_store_ops;

#endif
