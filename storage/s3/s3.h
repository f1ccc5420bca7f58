/*
 * storage/s3/: Amazon S3 and compatible stores. Read s3_bucket.h first.
 *
 * For the rest of storage/, through this header alone:
 *
 *	s3_store.h		s3://BUCKET/PREFIX
 *
 * Of this folder only:
 *
 *	s3_bucket.h		signs requests (aws/sigv4.h) and sends them to one bucket
 *	s3_reply.h		PURE: what a reply means
 */
#ifndef STORAGE_S3_H
#define STORAGE_S3_H

#include "s3_store.h"

#endif
