#include "claim_cache.h"

#include <stdlib.h>
#include <string.h>

void claim_cache_init(struct claim_cache *cache)
{
	*cache = (struct claim_cache){0};
	pthread_mutex_init(&cache->mutex, NULL);
}

void claim_cache_release(struct claim_cache *cache)
{
	pthread_mutex_destroy(&cache->mutex);
	free(cache->items);
	*cache = (struct claim_cache){0};
}

/* The position of the first one that is not below the number. */
static size_t position_of(const struct claim_cache *cache, uint32_t number)
{
	size_t low = 0, high = cache->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (cache->items[middle].claim.number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool claim_cache_find(struct claim_cache *cache, uint32_t number, int64_t put_ms,
		      struct lineage_attempt *claim)
{
	const struct cached_claim *item;
	bool found;
	size_t at;

	pthread_mutex_lock(&cache->mutex);
	at = position_of(cache, number);
	item = at < cache->count ? &cache->items[at] : NULL;
	found = put_ms > 0 && item && item->claim.number == number && item->put_ms == put_ms;
	if (found)
		*claim = item->claim;
	pthread_mutex_unlock(&cache->mutex);
	return found;
}

void claim_cache_add(struct claim_cache *cache, int64_t put_ms, const struct lineage_attempt *claim)
{
	const struct cached_claim added = {put_ms, *claim};
	size_t at;

	if (put_ms <= 0)
		return;
	pthread_mutex_lock(&cache->mutex);
	at = position_of(cache, claim->number);
	if (at == cache->count || cache->items[at].claim.number != claim->number) {
		if (cache->count == cache->capacity) {
			cache->capacity = cache->capacity ? 2 * cache->capacity : 64;
			cache->items =
				memory_grow(cache->items, cache->capacity, sizeof(*cache->items));
		}
		memmove(&cache->items[at + 1], &cache->items[at],
			(cache->count - at) * sizeof(*cache->items));
		cache->count++;
	}
	cache->items[at] = added;
	pthread_mutex_unlock(&cache->mutex);
}
