/*
 * storage/s3/: MAP
 *
 * For other folders, through this header alone:
 *
 *	s3_store.h	Amazon S3 and what speaks its protocol: s3://BUCKET/PREFIX
 *
 * Of this folder only:
 *
 *	s3_bucket.h	a bucket as calls see it: address, credentials, connections
 *	s3_reply.h	PURE: what a reply means: the table, and where a bucket is that is
 *			elsewhere
 */
#ifndef STORAGE_S3_H
#define STORAGE_S3_H

#include "s3_store.h"

#endif
