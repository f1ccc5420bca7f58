/* PURE. What a store answers when it is asked which objects it has. */
#ifndef OBJECT_LISTING_H
#define OBJECT_LISTING_H

#include "base/cleanup.h"

#include <stddef.h>
#include <stdint.h>

struct store_object {
	char *key;
	uint64_t size; /* 0 for a key that ends in '/' */
	/*
	 * When it was put, by the store's own clock, wall time since 1970: for sweeping
	 * (FORMAT.md). 0 is unknown, which counts as young: then nothing is ever swept. So every
	 * backend's listing should fill it, from LastModified or what it has, through
	 * store_listing_add_dated(); datetime.h reads the forms.
	 */
	int64_t modified_ms;
};

struct store_listing {
	struct store_object *items; /* sorted by key, byte by byte */
	size_t count;
};

/* For backends: adds one; and puts a finished listing in order. `key` is copied. */
void store_listing_add(struct store_listing *listing, const char *key, uint64_t size);
void store_listing_add_dated(struct store_listing *listing, const char *key, uint64_t size,
			     int64_t modified_ms);
void store_listing_sort(struct store_listing *listing);
/* NULL if no object has that key; borrowed from `listing`. */
const struct store_object *store_listing_find(const struct store_listing *listing, const char *key);
void store_listing_release(struct store_listing *listing);
AUTO(struct store_listing, store_listing_release);

#endif
