/*
 * storage/s3/: MAP
 *
 * For other folders, through this header alone:
 *
 *	s3_store.h	Amazon S3 and what speaks its protocol: s3://BUCKET/PREFIX
 *
 * Of this folder only:
 *
 *	s3_bucket.h	* A bucket as calls see it: address, credentials, connections
 *	s3_reply.h      PURE: What an S3 answer means: status, headers and body -> verdict, kind of
 *	                error and a sentence
 */
#ifndef STORAGE_S3_H
#define STORAGE_S3_H

#include "s3_store.h"

#endif
