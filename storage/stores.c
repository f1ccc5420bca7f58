/* The table of schemes, and what all backends share. */
#include "store.h"

#include <stdlib.h>
#include <string.h>

static const struct store_ops *const backends[] = {
	&store_dir_ops,
};

static const char *const planned[] = {"s3", "gs", "az"};

static bool has_scheme(const char *url, const char *scheme)
{
	return text_starts(url, scheme) && text_starts(url + strlen(scheme), "://");
}

int store_open(const char *url, bool create, bool read_only, struct store **store,
	struct cancel *cancel, struct err *err)
{
	for (size_t i = 0; i < sizeof(backends) / sizeof(backends[0]); i++)
		if (has_scheme(url, backends[i]->scheme))
			return backends[i]->open(url, create, read_only, store, cancel, err);
	for (size_t i = 0; i < sizeof(planned) / sizeof(planned[0]); i++)
		if (has_scheme(url, planned[i]))
			return err_set(err, ERR_INVALID,
				"store %s: %s:// is not there yet in this version; use file:///DIR "
				"(a local or shared directory)",
				url, planned[i]);
	return err_set(err, ERR_INVALID,
		"store %s: no such kind of store; there is file:///DIR (s3://, gs:// and az:// are "
		"not there yet in this version)",
		url);
}

void store_close(struct store *store)
{
	if (store)
		store->ops->close(store);
}

void store_listing_add(struct store_listing *listing, const char *key, uint64_t size)
{
	/* Doubling without a capacity member: grow whenever the count is a power of two. */
	if ((listing->count & (listing->count - 1)) == 0)
		listing->items = memory_grow(listing->items,
			listing->count ? 2 * listing->count : 1, sizeof(*listing->items));
	listing->items[listing->count++] = (struct store_object){text_copy(key), size};
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
