/* Amazon S3 and what speaks its protocol: s3://BUCKET/PREFIX. What each operation promises is said
 * in object_store.h. */
#ifndef S3_STORE_H
#define S3_STORE_H

#include "storage/backend/backend.h"

extern const struct store_ops s3_store_ops;

#endif
