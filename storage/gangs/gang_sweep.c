/* Removes what earlier attempts of a gang have left: joins, logs, and parts that no snapshot came
 * of. */
#include "storage/storage.h"

#include "base/cleanup.h"
#include "base/workers.h"
#include "storage/records/records.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define THREADS_MOST 16

struct gang_sweep {
	struct storage *storage;
	struct store_listing found;
	size_t prefix; /* length of "jobs/<job>/gang/" */
	uint32_t before;
	struct cancel *cancel;
	atomic_size_t next;
};

/* Event 1 of an attempt stays, and what a launch is known by: whoever stood still since would else
 * let an attempt begin that is long over. */
static bool is_left_over(const struct gang_sweep *sweep, const char *key)
{
	const char *name = key + sweep->prefix;
	char *rest;
	unsigned long attempt = strtoul(name, &rest, 10);

	return rest > name && attempt < sweep->before && !text_equal(rest, "/log/000001.json");
}

static void sweep_worker(void *arg, size_t index)
{
	struct gang_sweep *sweep = arg;
	struct store *store = sweep->storage->transfer.store;
	size_t i;

	(void)index;
	while ((i = atomic_fetch_add(&sweep->next, 1)) < sweep->found.count &&
	       !cancel_raised(sweep->cancel))
		if (is_left_over(sweep, sweep->found.items[i].key))
			store->ops->remove(store, sweep->found.items[i].key, sweep->cancel, NULL);
}

static void sweep_before(struct storage *storage, const char *kind, uint32_t attempt,
			 struct cancel *cancel)
{
	struct store *store = storage->transfer.store;
	auto_free char *prefix = text_format("jobs/%s/%s/", storage->transfer.job, kind);
	struct gang_sweep sweep = {
		.storage = storage,
		.prefix = strlen(prefix),
		.before = attempt,
		.cancel = cancel,
	};

	if (store->ops->list(store, prefix, STORE_ALL, &sweep.found, cancel, NULL) == 0 &&
	    sweep.found.count > 0)
		parallel_run(sweep.found.count < THREADS_MOST ? sweep.found.count : THREADS_MOST,
			     sweep_worker, &sweep);
	store_listing_release(&sweep.found);
}

void storage_gang_sweep(struct storage *storage, uint32_t attempt, struct cancel *cancel)
{
	/* Those of the attempt before this one say who was in it, and a member of it may still be
	 * about to read its log. */
	if (attempt > 1)
		sweep_before(storage, "gang", attempt - 1, cancel);
	sweep_before(storage, "parts", attempt, cancel);
}
