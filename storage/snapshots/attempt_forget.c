#include "forget.h"

#include "base/cleanup.h"
#include "base/fault.h"
#include "base/workers.h"

#include <stdlib.h>
#include <string.h>

#define THREADS_MOST 16

/* --- which --- */

bool attempt_is_long_past(const struct lineage *lineage, uint32_t number)
{
	size_t newer = lineage_attempt_from(lineage->attempts, lineage->attempt_count, number + 1);

	return lineage->attempt_count - newer >= ATTEMPTS_KEPT;
}

static bool has_snapshot(const struct lineage *lineage, uint32_t number)
{
	size_t at = lineage_first_from(lineage, (struct snapshot_id){number, 0});

	return at < lineage->snapshot_count && lineage->snapshots[at].attempt == number;
}

size_t attempt_forget_candidates(const struct lineage *lineage)
{
	size_t count = 0;

	for (size_t i = 0; i + ATTEMPTS_KEPT < lineage->attempt_count; i++)
		count += !has_snapshot(lineage, lineage->attempts[i].number);
	return count;
}

/* Whether all snapshots have the same states without it; then it is taken out. */
static bool take_out(struct lineage *lineage, size_t at, const enum snapshot_state *states,
		     enum snapshot_state *without)
{
	struct lineage_attempt attempt = lineage->attempts[at];

	memmove(&lineage->attempts[at], &lineage->attempts[at + 1],
		(--lineage->attempt_count - at) * sizeof(attempt));
	lineage_states(lineage, without);
	if (memcmp(states, without, lineage->snapshot_count * sizeof(*states)) == 0)
		return true;
	memmove(&lineage->attempts[at + 1], &lineage->attempts[at],
		(lineage->attempt_count++ - at) * sizeof(attempt));
	lineage->attempts[at] = attempt;
	return false;
}

size_t attempt_forget_select(const struct lineage *lineage, uint32_t *numbers, size_t most)
{
	struct lineage left = *lineage;
	auto_free struct lineage_attempt *attempts =
		memory_new((left.attempt_count + 1) * sizeof(*attempts));
	auto_free enum snapshot_state *states =
		memory_new((left.snapshot_count + 1) * sizeof(*states));
	auto_free enum snapshot_state *without =
		memory_new((left.snapshot_count + 1) * sizeof(*without));
	size_t count = 0, at = 0;

	if (left.attempt_count > 0)
		memcpy(attempts, left.attempts, left.attempt_count * sizeof(*attempts));
	left.attempts = attempts;
	lineage_states(&left, states);
	while (count < most && left.attempt_count > at + ATTEMPTS_KEPT) {
		uint32_t number = attempts[at].number;

		if (!has_snapshot(&left, number) && take_out(&left, at, states, without))
			numbers[count++] = number;
		else
			at++;
	}
	return count;
}

/* --- removing --- */

struct attempt_removal {
	struct storage *storage;
	const uint32_t *numbers;
	struct cancel *cancel;
};

static int remove_below(const struct attempt_removal *removal, const char *kind, uint32_t number,
			char end)
{
	auto_free char *prefix =
		text_format("jobs/%s/%s/%06u%c", removal->storage->transfer.job, kind, number, end);
	auto_(store_listing_release) struct store_listing found = {0};
	struct store *store = removal->storage->transfer.store;

	if (store->ops->list(store, prefix, STORE_ALL, &found, removal->cancel, NULL) < 0)
		return -1;
	for (size_t i = 0; i < found.count; i++)
		if (store->ops->remove(store, found.items[i].key, removal->cancel, NULL) < 0)
			return -1;
	return 0;
}

/* The records last: as long as one is there, the attempt is listed, and the next run goes on. */
static int remove_attempt(void *arg, size_t at, struct err *err)
{
	const struct attempt_removal *removal = arg;
	uint32_t number = removal->numbers[at];
	int result;

	(void)err;
	fault_point("before_attempt_remove");
	result = remove_below(removal, "notes", number, '/');
	if (result == 0)
		result = remove_below(removal, "draining", number, '-');
	if (result == 0)
		result = remove_below(removal, "attempts", number, '.');
	fault_point("after_attempt_remove");
	return result;
}

int attempt_forget_run(struct storage *storage, const struct job_listing *listing, size_t most,
		       struct cancel *cancel, struct err *err)
{
	auto_free uint32_t *numbers = memory_new((most + 1) * sizeof(*numbers));
	struct attempt_removal removal = {.storage = storage, .numbers = numbers, .cancel = cancel};
	size_t count;

	if (attempt_forget_candidates(&listing->lineage) == 0)
		return 0;
	if (listed_claims_read(storage, listing, cancel, err) < 0)
		return -1;
	count = attempt_forget_select(&listing->lineage, numbers, most);
	(void)parallel_each(count, THREADS_MOST, remove_attempt, &removal, NULL);
	return 0;
}
