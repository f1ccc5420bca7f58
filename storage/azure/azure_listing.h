/* PURE. One page of Azure's List Blobs. */
#ifndef AZURE_LISTING_H
#define AZURE_LISTING_H

#include "storage/backend/backend.h"

/*
 * Adds the page's names, without `prefix` in front, to `listing`; what ends in '/' only where the
 * service folded it. Directories of an account with a hierarchical namespace are left out. *next is
 * the marker of the next page, NULL after the last; the caller frees. ERR_CORRUPT for anything that
 * is no such page.
 */
int azure_listing_read(const void *body, size_t size, const char *prefix,
		       struct store_listing *listing, char **next, struct err *err);

#endif
