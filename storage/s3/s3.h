/*
 * storage/s3/: Amazon S3 and compatible stores. Read s3_store.h first.
 *
 * For the rest of storage/, through this header alone:
 *
 *	s3_store.h		s3://BUCKET/PREFIX
 */
#ifndef STORAGE_S3_H
#define STORAGE_S3_H

#include "s3_store.h"

#endif
