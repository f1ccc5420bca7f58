#include "object_store.h"

#include "base/clock.h"
#include "storage/http/http.h"

#include <stdlib.h>
#include <string.h>

/* A list of a store's objects. */

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

#define PROBE_KEY ".probe"

/* The same name each time: from the second start on it is one request, and nothing is left behind
 * that would have to be removed. */
int store_prove(struct store *store, const char *url, struct cancel *cancel, struct err *err)
{
	static const char text[] = "Shows that this store keeps an object from being put twice.\n";

	for (int i = 0; i < 2; i++) {
		struct err own = {0};

		if (store->ops->put(store, PROBE_KEY, text, sizeof(text) - 1, STORE_IF_ABSENT,
				    cancel, &own) == 0)
			continue;
		if (own.kind == ERR_EXISTS)
			return 0;
		err_pass(err, &own);
		return err_wrap(err, "store %s: cannot write to it", url);
	}
	return err_set(err, ERR_UNFIT,
		       "store %s ignores %s: two machines of one job could overwrite each other's "
		       "snapshots: %s",
		       url, store->condition, store->advice);
}

bool store_pause(unsigned tries, int64_t begun_ms, struct cancel *cancel)
{
	int64_t patience_ms = retrying_client_patience_ms(NULL);
	struct retry_policy_facts facts = {
		.cause = RETRY_FAULT,
		.tries = tries,
		.spent_ms = clock_monotonic_ms() - begun_ms,
		.patience_ms = patience_ms > 0 ? patience_ms : RETRYING_CLIENT_PATIENCE_MS,
		.left_ms = cancel_left_ms(cancel),
		.asked_ms = -1,
		.random = backoff_random(),
	};
	struct retry_policy_decision decision = retry_policy_decide(&facts);

	return decision.again && cancel_sleep(cancel, decision.after_ms, NULL) == 0;
}

void store_close(struct store *store)
{
	if (store)
		store->ops->close(store);
}

int store_gather(void *arg, size_t at, const void *data, size_t size, struct err *err)
{
	const struct store_gathering *gathering = arg;

	gathering->out->size = gathering->before + at;
	return bytes_append(gathering->out, data, size, err);
}

int store_read(struct store *store, const char *key, uint64_t offset, size_t size,
	       const struct store_taker *taker, struct cancel *cancel, struct err *err)
{
	auto_(bytes_release) struct bytes all = {0};

	if (store->ops->read)
		return store->ops->read(store, key, offset, size, taker, cancel, err);
	if (store->ops->get(store, key, offset, size, &all, cancel, err) < 0)
		return -1;
	return taker->take(taker->arg, 0, all.data, all.size, err);
}

void store_explain_needed(const char *reason, struct err *err)
{
	if (err)
		err_set(err, ERR_NO_SPACE,
			"the store is full (%.160s), and holds only what job and pins need: make "
			"it larger, or remove other data",
			reason);
}

int store_explain_full(const char *job, struct err *err)
{
	char text[sizeof(err->text)];

	if (!err || err->kind != ERR_NO_SPACE)
		return -1;
	text_set(text, sizeof(text), err->text);
	return err_set(err, ERR_NO_SPACE,
		       "the store is full (%.*s): `reprieve forget --job %s --keep-last N` makes "
		       "room; or make it larger",
		       (int)(sizeof(text) / 2), text, job);
}

struct store_health store_read_health(struct store *store)
{
	struct store_health health = {0};

	if (store->ops->read_health)
		store->ops->read_health(store, &health);
	return health;
}

const char *store_describe(struct store *store, char *text, size_t capacity)
{
	text_set(text, capacity, "");
	if (store->ops->describe)
		store->ops->describe(store, text, capacity);
	return text;
}
