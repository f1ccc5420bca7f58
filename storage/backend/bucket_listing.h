/* PURE. Parses one page of a list of objects in XML: ListObjectsV2 of S3, List Blobs of Azure. */
#ifndef BUCKET_LISTING_H
#define BUCKET_LISTING_H

#include "object_store.h"

/* Where in the document what is. Paths below `root` begin with '/'. */
struct listing_dialect {
	const char *root, *object, *key, *size, *modified, *folded, *next;
	/* Where "directory" says that it is no object; NULL: nowhere. */
	const char *type;
};

/*
 * Adds the page's keys, without `prefix`, to `listing`. A key that ends in '/' is added only if the
 * store has folded it; an empty object with such a name, which some tools make as a "folder", is
 * skipped. *next is the token of the next page, NULL after the last; the caller frees. ERR_CORRUPT:
 * the document is not such a page, or is incomplete without naming the next page; then nothing is
 * added.
 */
int listing_page_read(const struct listing_dialect *dialect, const void *body, size_t size,
		      const char *prefix, struct store_listing *listing, char **next,
		      struct err *err);
/* A page of ListObjectsV2. */
int bucket_listing_read(const void *body, size_t size, const char *prefix,
			struct store_listing *listing, char **next, struct err *err);

#endif
