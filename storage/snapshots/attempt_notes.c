/* Keeps events, log and metrics of an attempt for people and reports. No decision depends on
 * them. */
#include "storage/storage.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/workers.h"
#include "note_archive.h"
#include "storage/records/records.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Notes that are archived while they are being read are looked for again. */
#define LOOKS_MOST 3
#define THREADS_MOST 16

static char *note_key_prefix(const struct storage *storage, uint32_t attempt, const char *kind)
{
	return text_format("jobs/%s/notes/%06u/%s-", storage->transfer.job, attempt, kind);
}

int storage_put_note(struct storage *storage, uint32_t attempt, const char *kind, unsigned part,
		     const void *data, size_t size, struct cancel *cancel, struct err *err)
{
	auto_free char *prefix = note_key_prefix(storage, attempt, kind);
	auto_free char *key = text_format("%s%04u", prefix, part);

	return storage->transfer.store->ops->put(storage->transfer.store, key, data, size,
						 STORE_UNIQUE, cancel, err);
}

int storage_get_notes(struct storage *storage, uint32_t attempt, const char *kind,
		      struct bytes *out, struct cancel *cancel, struct err *err)
{
	auto_free char *prefix = note_key_prefix(storage, attempt, kind);
	auto_(store_listing_release) struct store_listing listing = {0};

	if (storage->transfer.store->ops->list(storage->transfer.store, prefix, STORE_ALL, &listing,
					       cancel, err) < 0)
		return -1;
	for (size_t i = 0; i < listing.count; i++)
		if (storage->transfer.store->ops->get(storage->transfer.store, listing.items[i].key,
						      0, STORE_TO_END, out, cancel, err) < 0)
			return -1;
	return 0;
}

/* --- the ledgers of all attempts --- */

struct ledgers_read {
	struct storage *storage;
	uint32_t oldest;
	ledger_fn *take;
	void *arg;
	struct cancel *cancel;
};

/* One that is damaged leaves its attempts without a ledger. */
static int take_archived(const struct ledgers_read *reading, struct note_archives *archives,
			 struct err *err)
{
	for (size_t i = 0; i < archives->count; i++) {
		struct snapshot_id *range = &archives->ranges[i];
		auto_free char *key =
			note_archive_key(reading->storage, range->attempt, range->sequence);
		auto_json json_t *body = NULL;
		json_t *attempts, *item;
		size_t at;

		if (range->sequence < reading->oldest)
			continue;
		if (job_record_get(reading->storage->transfer.store, key, RECORD_LEDGERS, &body,
				   reading->cancel, err) < 0) {
			if (err->kind != ERR_CORRUPT && err->kind != ERR_NOT_FOUND)
				return -1;
			continue;
		}
		attempts = json_object_get(body, "attempts");
		json_array_foreach(attempts, at, item)
		{
			const char *text = json_text_or(item, "ledger", "");
			struct bytes ledger = {.data = (uint8_t *)text, .size = strlen(text)};

			if (ledger.size > 0)
				reading->take(reading->arg,
					      (uint32_t)json_number_or(item, "attempt", 0),
					      &ledger);
		}
	}
	return 0;
}

/* The notes of one attempt: positions in the list. */
struct note_group {
	uint32_t attempt;
	size_t first, end;
};

struct singles_read {
	const struct ledgers_read *reading;
	const struct store_listing *notes;
	struct note_group *groups;
	size_t count;
	atomic_size_t next;
	pthread_mutex_t mutex; /* held while a ledger is taken, too */
	bool failed;           /* under mutex, like `err` */
	struct err err;
};

static void collect_groups(struct singles_read *singles, const struct note_archives *archives)
{
	size_t prefix = strlen("jobs//notes/") + strlen(singles->reading->storage->transfer.job);
	struct note_group *last = NULL;
	uint32_t number;

	singles->groups = memory_new((singles->notes->count + 1) * sizeof(*singles->groups));
	for (size_t i = 0; i < singles->notes->count; i++) {
		if (!note_archive_parse(singles->notes->items[i].key + prefix, &number) ||
		    number < singles->reading->oldest || note_archives_have(archives, number))
			continue;
		if (!last || last->attempt != number) {
			last = &singles->groups[singles->count++];
			*last = (struct note_group){number, i, i};
		}
		last->end = i + 1;
	}
}

static int read_group(struct singles_read *singles, const struct note_group *group,
		      struct bytes *ledger, struct err *err)
{
	struct store *store = singles->reading->storage->transfer.store;

	for (size_t i = group->first; i < group->end; i++) {
		const char *key = singles->notes->items[i].key;

		if (note_archive_is_ledger(key) &&
		    store->ops->get(store, key, 0, STORE_TO_END, ledger, singles->reading->cancel,
				    err) < 0)
			return -1;
	}
	return 0;
}

static void read_group_worker(void *arg, size_t index)
{
	struct singles_read *singles = arg;
	size_t i;

	(void)index;
	while ((i = atomic_fetch_add(&singles->next, 1)) < singles->count) {
		auto_(bytes_release) struct bytes ledger = {0};
		struct err err = {0};
		bool failed = read_group(singles, &singles->groups[i], &ledger, &err) < 0;

		pthread_mutex_lock(&singles->mutex);
		if (failed && !singles->failed)
			singles->err = err;
		singles->failed |= failed;
		if (!failed && ledger.size > 0)
			singles->reading->take(singles->reading->arg, singles->groups[i].attempt,
					       &ledger);
		pthread_mutex_unlock(&singles->mutex);
		if (failed)
			atomic_store(&singles->next, singles->count);
	}
}

/* ERR_NOT_FOUND: a part was listed and is not there. */
static int take_singles(const struct ledgers_read *reading, const struct store_listing *notes,
			const struct note_archives *archives, struct err *err)
{
	struct singles_read singles = {.reading = reading, .notes = notes};

	pthread_mutex_init(&singles.mutex, NULL);
	collect_groups(&singles, archives);
	if (singles.count > 0)
		parallel_run(singles.count < THREADS_MOST ? singles.count : THREADS_MOST,
			     read_group_worker, &singles);
	pthread_mutex_destroy(&singles.mutex);
	free(singles.groups);
	if (singles.failed && err)
		*err = singles.err;
	return singles.failed ? -1 : 0;
}

/* The notes first and the archives after them: what was removed before the first listing is in an
 * archive that the second one shows. */
static int read_ledgers(const struct ledgers_read *reading, struct err *err)
{
	auto_(store_listing_release) struct store_listing notes = {0};
	auto_(note_archives_release) struct note_archives archives = {0};
	auto_free char *prefix = text_format("jobs/%s/notes/", reading->storage->transfer.job);
	struct store *store = reading->storage->transfer.store;

	if (store->ops->list(store, prefix, STORE_ALL, &notes, reading->cancel, err) < 0 ||
	    note_archives_list(reading->storage, &archives, reading->cancel, err) < 0 ||
	    take_archived(reading, &archives, err) < 0)
		return -1;
	return take_singles(reading, &notes, &archives, err);
}

int storage_each_ledger(struct storage *storage, uint32_t oldest, ledger_fn *take, void *arg,
			struct cancel *cancel, struct err *err)
{
	const struct ledgers_read reading = {storage, oldest, take, arg, cancel};
	struct err own = {0};

	for (int i = 0; i < LOOKS_MOST; i++) {
		if (read_ledgers(&reading, &own) == 0)
			return 0;
		if (own.kind != ERR_NOT_FOUND)
			break;
	}
	if (err)
		*err = own;
	return err_wrap(err, "cannot read the ledgers of job %s", storage->transfer.job);
}
