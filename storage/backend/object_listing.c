#include "object_listing.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

void store_listing_add_dated(struct store_listing *listing, const char *key, uint64_t size,
			     int64_t modified_ms)
{
	/* Doubling without a capacity member: grow whenever the count is a power of two. */
	if ((listing->count & (listing->count - 1)) == 0)
		listing->items =
			memory_grow(listing->items, listing->count ? 2 * listing->count : 1,
				    sizeof(*listing->items));
	listing->items[listing->count++] = (struct store_object){text_copy(key), size, modified_ms};
}

void store_listing_add(struct store_listing *listing, const char *key, uint64_t size)
{
	store_listing_add_dated(listing, key, size, 0);
}

static int compare_keys(const void *a, const void *b)
{
	const struct store_object *first = a, *second = b;

	return strcmp(first->key, second->key);
}

void store_listing_sort(struct store_listing *listing)
{
	if (listing->count)
		qsort(listing->items, listing->count, sizeof(*listing->items), compare_keys);
}

const struct store_object *store_listing_find(const struct store_listing *listing, const char *key)
{
	struct store_object wanted = {.key = (char *)key};

	if (listing->count == 0)
		return NULL;
	return bsearch(&wanted, listing->items, listing->count, sizeof(wanted), compare_keys);
}

void store_listing_release(struct store_listing *listing)
{
	for (size_t i = 0; i < listing->count; i++)
		free(listing->items[i].key);
	free(listing->items);
	*listing = (struct store_listing){0};
}
