/*
 * A store in front of the fixture's that is remote as far as storage knows, and misbehaves as told:
 * puts of packs that are late, fail or never end. Counts what is asked of it.
 */
#ifndef SLOW_STORE_H
#define SLOW_STORE_H

#include "storage_fixture.h"

#include "storage/records/job_records.h"
#include "storage/transfer/job_transfer.h"

#include <pthread.h>
#include <stdatomic.h>

struct slow_store {
	struct store store;
	struct store *behind;
	/* Told the number of this put of a pack, from 1, over all, and how often this key was put
	 * before. NULL: nothing happens. 0 goes on. */
	int (*put_pack)(struct slow_store *slow, unsigned number, unsigned again,
			struct cancel *cancel, struct err *err);
	void (*before_list)(struct slow_store *slow);
	/* Each answers in place of the store where it returns -1; NULL: nothing happens. After a
	 * record was put; before the others. */
	int (*answer_record)(struct slow_store *slow, const char *key, struct err *err);
	int (*answer_get)(struct slow_store *slow, const char *key, struct err *err);
	int (*answer_list)(struct slow_store *slow, const char *prefix, struct err *err);
	int (*answer_remove)(struct slow_store *slow, const char *key, struct err *err);
	void *arg;
	/* The packs may have so many bytes in all; 0: any number. */
	uint64_t room;
	atomic_uint pack_puts, gets, lists;
	atomic_uint under_way, under_way_most;
	pthread_mutex_t mutex;
	struct {
		char *keys[256];
		size_t count;
	} seen; /* under mutex */
};

static inline struct slow_store *slow_of(struct store *store)
{
	return (struct slow_store *)store;
}

static inline unsigned slow_store_note(struct slow_store *slow, const char *key)
{
	unsigned again = 0;

	pthread_mutex_lock(&slow->mutex);
	for (size_t i = 0; i < slow->seen.count; i++)
		again += text_equal(slow->seen.keys[i], key);
	if (slow->seen.count < 256)
		slow->seen.keys[slow->seen.count++] = text_copy(key);
	pthread_mutex_unlock(&slow->mutex);
	return again;
}

static inline bool slow_store_left(struct slow_store *slow, uint64_t *bytes)
{
	auto_(store_listing_release) struct store_listing packs = {0};
	uint64_t taken = 0;
	/* Not the test's: several threads ask. */
	struct err own;

	if (slow->room == 0)
		return false;
	if (slow->behind->ops->list(slow->behind, "jobs/job/packs/", STORE_ALL, &packs, NULL,
				    &own) < 0)
		fail_msg("%s", own.text);
	for (size_t i = 0; i < packs.count; i++)
		taken += packs.items[i].size;
	*bytes = slow->room - taken;
	return true;
}

static inline int slow_store_put(struct store *store, const char *key, const void *data,
				 size_t size, enum store_put_mode mode, struct cancel *cancel,
				 struct err *error)
{
	struct slow_store *slow = slow_of(store);
	unsigned now, most;
	uint64_t left;
	int result = 0;

	if (mode != STORE_UNIQUE) {
		result = slow->behind->ops->put(slow->behind, key, data, size, mode, cancel, error);
		if (result == 0 && slow->answer_record)
			result = slow->answer_record(slow, key, error);
		return result;
	}
	now = atomic_fetch_add(&slow->under_way, 1) + 1;
	most = atomic_load(&slow->under_way_most);
	while (now > most && !atomic_compare_exchange_weak(&slow->under_way_most, &most, now))
		;
	if (slow->put_pack)
		result = slow->put_pack(slow, atomic_fetch_add(&slow->pack_puts, 1) + 1,
					slow_store_note(slow, key), cancel, error);
	else
		atomic_fetch_add(&slow->pack_puts, 1);
	if (result == 0 && slow_store_left(slow, &left) && left < size)
		result = err_set(error, ERR_NO_SPACE, "507");
	if (result == 0)
		result = slow->behind->ops->put(slow->behind, key, data, size, mode, cancel, error);
	atomic_fetch_sub(&slow->under_way, 1);
	return result;
}

static inline int slow_store_get(struct store *store, const char *key, uint64_t offset, size_t size,
				 struct bytes *out, struct cancel *cancel, struct err *error)
{
	struct slow_store *slow = slow_of(store);

	if (strstr(key, "/packs/"))
		atomic_fetch_add(&slow->gets, 1);
	if (slow->answer_get && slow->answer_get(slow, key, error) < 0)
		return -1;
	return slow->behind->ops->get(slow->behind, key, offset, size, out, cancel, error);
}

static inline int slow_store_list(struct store *store, const char *prefix, enum store_depth depth,
				  struct store_listing *listing, struct cancel *cancel,
				  struct err *error)
{
	struct slow_store *slow = slow_of(store);

	atomic_fetch_add(&slow->lists, 1);
	if (slow->before_list)
		slow->before_list(slow);
	if (slow->answer_list && slow->answer_list(slow, prefix, error) < 0)
		return -1;
	return slow->behind->ops->list(slow->behind, prefix, depth, listing, cancel, error);
}

static inline int slow_store_remove(struct store *store, const char *key, struct cancel *cancel,
				    struct err *error)
{
	struct slow_store *slow = slow_of(store);

	if (slow->answer_remove && slow->answer_remove(slow, key, error) < 0)
		return -1;
	return slow->behind->ops->remove(slow->behind, key, cancel, error);
}

static inline void slow_store_close(struct store *store)
{
	struct slow_store *slow = slow_of(store);

	store_close(slow->behind);
	for (size_t i = 0; i < slow->seen.count; i++)
		free(slow->seen.keys[i]);
	pthread_mutex_destroy(&slow->mutex);
	free(slow);
}

static const struct store_ops slow_store_ops = {
	.scheme = "slow",
	.close = slow_store_close,
	.put = slow_store_put,
	.get = slow_store_get,
	.list = slow_store_list,
	.remove = slow_store_remove,
};

/* From now on the fixture's storage sees this one. Freed with it. */
static inline struct slow_store *slow_store_install(struct fixture *fixture,
						    const struct transfer_plan_facts *facts)
{
	struct slow_store *slow = memory_new(sizeof(*slow));
	struct transfer_plan_facts remote = {.processors = 3, .remote = true};

	slow->store.ops = &slow_store_ops;
	slow->behind = fixture->storage->transfer.store;
	pthread_mutex_init(&slow->mutex, NULL);
	fixture->storage->transfer.store = &slow->store;
	fixture->storage->transfer.remote = true;
	transfer_plan(facts ? facts : &remote, &fixture->storage->transfer.plan);
	fixture->storage->transfer.rate.bytes_per_second = facts ? facts->bandwidth : 0;
	return slow;
}

#endif
