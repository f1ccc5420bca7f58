/* PURE. One page of ListObjectsV2. */
#ifndef BUCKET_LISTING_H
#define BUCKET_LISTING_H

#include "object_store.h"

/*
 * Adds the page's keys, without `prefix` in front, to `listing`; what ends in '/' only where S3
 * folded it (a "folder" that somebody made as an empty object is none of ours). *next is the token
 * for the next page, NULL after the last; the caller frees. ERR_CORRUPT for anything that is no
 * such page, or that claims to go on without saying how: then nothing is added.
 */
int bucket_listing_read(const void *body, size_t size, const char *prefix,
			struct store_listing *listing, char **next, struct err *err);

#endif
