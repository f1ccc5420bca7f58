/* What a start and a commit ask of a store does not grow with the attempts and snapshots that ever
 * were; a list and the first retention run of a process read what is kept, and no more. The
 * requests are counted, lists by pages. */
#include "effort.h"
#include "synthetic_history.h"

#include "storage/snapshots/forget.h"

#include <stdatomic.h>
#include <stdio.h>

#define MORE_AT_MOST 20
#define PAGE 1000

/* --- a store that counts --- */

struct counting_store {
	struct store store;
	struct store *behind;
	atomic_uint gets, puts, lists, removals;
};

static struct counting_store *counting_of(struct store *store)
{
	return (struct counting_store *)store;
}

static int counting_put(struct store *store, const char *key, const void *data, size_t size,
			enum store_put_mode mode, struct cancel *cancel, struct err *error)
{
	struct store *behind = counting_of(store)->behind;

	atomic_fetch_add(&counting_of(store)->puts, 1);
	return behind->ops->put(behind, key, data, size, mode, cancel, error);
}

static int counting_get(struct store *store, const char *key, uint64_t offset, size_t size,
			struct bytes *out, struct cancel *cancel, struct err *error)
{
	struct store *behind = counting_of(store)->behind;

	atomic_fetch_add(&counting_of(store)->gets, 1);
	return behind->ops->get(behind, key, offset, size, out, cancel, error);
}

static int counting_list(struct store *store, const char *prefix, enum store_depth depth,
			 struct store_listing *listing, struct cancel *cancel, struct err *error)
{
	struct store *behind = counting_of(store)->behind;
	int result = behind->ops->list(behind, prefix, depth, listing, cancel, error);

	atomic_fetch_add(&counting_of(store)->lists,
			 (unsigned)(listing->count ? (listing->count + PAGE - 1) / PAGE : 1));
	return result;
}

static int counting_remove(struct store *store, const char *key, struct cancel *cancel,
			   struct err *error)
{
	struct store *behind = counting_of(store)->behind;

	atomic_fetch_add(&counting_of(store)->removals, 1);
	return behind->ops->remove(behind, key, cancel, error);
}

static void counting_close(struct store *store)
{
	store_close(counting_of(store)->behind);
	free(store);
}

static const struct store_ops counting_ops = {
	.scheme = "counting",
	.close = counting_close,
	.put = counting_put,
	.get = counting_get,
	.list = counting_list,
	.remove = counting_remove,
};

/* A new process that has opened the store. */
static struct counting_store *open_counting(struct fixture *f)
{
	struct counting_store *counting = memory_new(sizeof(*counting));

	storage_close(f->storage);
	fixture_open(f);
	counting->store.ops = &counting_ops;
	counting->behind = f->storage->transfer.store;
	f->storage->transfer.store = &counting->store;
	return counting;
}

/* --- what is measured --- */

struct costs {
	unsigned start, commit, next_commit, retention, next_retention, list;
	/* Of several starts together, with what they remove. */
	unsigned starts;
};

static unsigned requests(struct counting_store *counting)
{
	return atomic_exchange(&counting->gets, 0) + atomic_exchange(&counting->puts, 0) +
	       atomic_exchange(&counting->lists, 0);
}

static unsigned cost_of_retention(struct fixture *f, struct counting_store *counting)
{
	struct forget_request request = {.policy.keep_last = 100000};
	struct forget_result result;

	(void)requests(counting);
	assert_works(storage_forget(f->storage, &request, &result, NULL, &err));
	return requests(counting);
}

static void keep_largest(unsigned *most, unsigned cost)
{
	if (cost > *most)
		*most = cost;
}

static void measure_start(struct fixture *f, struct costs *costs)
{
	struct counting_store *counting = open_counting(f);
	struct claim claim = {.policy = RESTORE_LATEST};
	unsigned removals, others;

	attempt_release(&f->attempt);
	f->sequence = 0;
	assert_works(storage_claim(f->storage, &claim, &f->attempt, NULL, &err));
	removals = atomic_exchange(&counting->removals, 0);
	others = requests(counting);
	costs->starts += others + removals;
	/* One that forgets attempts counts among the others. */
	if (removals == 0)
		keep_largest(&costs->start, others);
}

static void measure_commits(struct fixture *f, struct costs *costs)
{
	struct counting_store *counting = open_counting(f);

	fixture_write(f, "w", 1000, f->attempt.number);
	fixture_take(f);
	keep_largest(&costs->commit, requests(counting));
	fixture_write(f, "w", 1000, f->attempt.number + 1);
	fixture_take(f);
	keep_largest(&costs->next_commit, requests(counting));
}

static void measure_retention(struct fixture *f, struct costs *costs)
{
	struct counting_store *counting = open_counting(f);
	struct snapshot_list list;

	assert_works(storage_list_snapshots(f->storage, &list, NULL, &err));
	snapshot_list_release(&list);
	keep_largest(&costs->list, requests(counting));
	counting = open_counting(f);
	keep_largest(&costs->retention, cost_of_retention(f, counting));
	keep_largest(&costs->next_retention, cost_of_retention(f, counting));
}

/* The largest of each, since they depend on how long ago attempts were forgotten. */
static struct costs measure(struct fixture *f, unsigned rounds)
{
	struct costs costs = {0};

	for (unsigned i = 0; i < rounds; i++) {
		measure_start(f, &costs);
		measure_commits(f, &costs);
		measure_retention(f, &costs);
	}
	costs.starts /= rounds;
	print_message("start %u (%u in the mean with all that belongs to it), commit %u and then "
		      "%u, retention %u and then %u, list %u\n",
		      costs.start, costs.starts, costs.commit, costs.next_commit, costs.retention,
		      costs.next_retention, costs.list);
	return costs;
}

/* A job that has been preempted often and has kept a tenth of its snapshots. */
static void write_history(struct fixture *f, uint32_t attempts)
{
	struct snapshot_id model, newest = {0};

	fixture_write(f, "w", 1000, 1);
	newest = model = fixture_take(f);
	for (uint32_t i = 2; i <= attempts; i++) {
		synthetic_attempt(f, "job",
				  &(struct synthetic_attempt){.number = i, .start = newest});
		if (i % 10 != 0)
			continue;
		newest = (struct snapshot_id){i, 1};
		synthetic_snapshot(f, model, newest);
	}
}

static void test_requests_do_not_grow(void **state)
{
	uint32_t attempts = effort_count("attempts", 500, 300);
	struct fixture f;
	struct costs one, many;
	unsigned kept;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "w", 1000, 1);
	fixture_take(&f);
	one = measure(&f, 1);
	fixture_stop(&f);

	fixture_start(&f);
	write_history(&f, attempts);
	/* Each forgets a thousand at most. */
	for (uint32_t i = 0; i <= attempts / 1000; i++)
		(void)cost_of_retention(&f, open_counting(&f));
	many = measure(&f, 8);
	assert_in_range(many.start, 0, one.start + MORE_AT_MOST);
	assert_in_range(many.starts, 0, one.start + MORE_AT_MOST);
	assert_in_range(many.commit, 0, one.commit + MORE_AT_MOST);
	assert_in_range(many.next_commit, 0, one.next_commit + MORE_AT_MOST);
	assert_in_range(many.next_retention, 0, one.next_retention + MORE_AT_MOST);
	/* Each snapshot is one of an attempt of its own. */
	kept = attempts / 10 + 8;
	assert_in_range(many.retention, 0, one.retention + 2 * kept + ATTEMPTS_KEPT + MORE_AT_MOST);
	assert_in_range(many.list, 0, one.list + 2 * kept + ATTEMPTS_KEPT + MORE_AT_MOST);
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests_do_not_grow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
