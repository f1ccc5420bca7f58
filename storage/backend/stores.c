/* The table of schemes, and what all backends share. */
#include "object_store.h"

#include "storage/http/retrying_client.h"

#include <stdlib.h>
#include <string.h>

static const struct store_ops *const backends[] = {
	&store_dir_ops,
	&store_s3_ops,
	&store_gcs_ops,
	&store_azure_ops,
};

static bool has_scheme(const char *url, const char *scheme)
{
	return text_starts(url, scheme) && text_starts(url + strlen(scheme), "://");
}

int store_open(const char *url, bool create, bool read_only, struct store **store,
	struct cancel *cancel, struct err *err)
{
	if (remote_patience_ms(err) < 0)
		return err_wrap(err, "store %s", url);
	for (size_t i = 0; i < sizeof(backends) / sizeof(backends[0]); i++)
		if (has_scheme(url, backends[i]->scheme))
			return backends[i]->open(url, create, read_only, store, cancel, err);
	return err_set(err, ERR_INVALID,
		"store %s: no such kind of store; there are file:///DIR, s3://BUCKET/PREFIX, "
		"gs://BUCKET/PREFIX and az://ACCOUNT/CONTAINER/PREFIX",
		url);
}

void store_close(struct store *store)
{
	if (store)
		store->ops->close(store);
}

const char *store_describe(struct store *store, char *text, size_t capacity)
{
	text_set(text, capacity, "");
	if (store->ops->describe)
		store->ops->describe(store, text, capacity);
	return text;
}

void store_listing_add_dated(
	struct store_listing *listing, const char *key, uint64_t size, int64_t modified_ms)
{
	/* Doubling without a capacity member: grow whenever the count is a power of two. */
	if ((listing->count & (listing->count - 1)) == 0)
		listing->items = memory_grow(listing->items,
			listing->count ? 2 * listing->count : 1, sizeof(*listing->items));
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
