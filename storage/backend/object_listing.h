/* PURE. A list of a store's objects. */
#ifndef OBJECT_LISTING_H
#define OBJECT_LISTING_H

#include "base/cleanup.h"

#include <stddef.h>
#include <stdint.h>

struct store_object {
	char *key;
	uint64_t size; /* 0 if the key ends in '/' */
	/*
	 * When the object was put, by the store's own clock, in ms since 1970; for garbage
	 * collection (FORMAT.md). 0: unknown, which counts as young, so it is never collected.
	 * Every backend should fill it, from LastModified or the like, with
	 * store_listing_add_dated(); clock.h reads the forms.
	 */
	int64_t modified_ms;
};

struct store_listing {
	struct store_object *items; /* sorted by key, byte by byte */
	size_t count;
};

/* For backends: adds an object, copying `key`; sorts the finished list. */
void store_listing_add(struct store_listing *listing, const char *key, uint64_t size);
void store_listing_add_dated(struct store_listing *listing, const char *key, uint64_t size,
			     int64_t modified_ms);
void store_listing_sort(struct store_listing *listing);
/* The object with that key, or NULL; borrowed from `listing`. */
const struct store_object *store_listing_find(const struct store_listing *listing, const char *key);
void store_listing_release(struct store_listing *listing);
AUTO(struct store_listing, store_listing_release);

#endif
