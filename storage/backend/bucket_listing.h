/* PURE. Parses one page of ListObjectsV2. */
#ifndef BUCKET_LISTING_H
#define BUCKET_LISTING_H

#include "object_store.h"

/*
 * Adds the page's keys, without `prefix`, to `listing`. A key that ends in '/' is added only if S3
 * has folded it; an empty object with such a name, which some tools make as a "folder", is skipped.
 * *next is the token of the next page, NULL after the last; the caller frees. ERR_CORRUPT: the
 * document is not such a page, or is incomplete without naming the next page; then nothing is
 * added.
 */
int bucket_listing_read(const void *body, size_t size, const char *prefix,
			struct store_listing *listing, char **next, struct err *err);

#endif
