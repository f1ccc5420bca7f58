#include "gang_pick.h"

static size_t keeper_of(const struct manifest_part *parts, size_t member)
{
	return parts[member].kept ? parts[member].keeper : member;
}

/* Much less than another one has: nothing, or its random state alone, as where rank 0 saves the
 * weights for all. */
static bool has_little(const struct manifest_part *parts, size_t count, const bool *takes)
{
	uint64_t most = 0, own = 0;
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		if (parts[i].bytes > most)
			most = parts[i].bytes;
		if (!takes[i])
			continue;
		own += parts[i].bytes;
		any |= parts[i].pieces > 0 && !parts[i].without_checkpoint;
	}
	return !any || own < most / 2;
}

static size_t take_all(size_t count, bool *takes)
{
	for (size_t i = 0; i < count; i++)
		takes[i] = true;
	return count;
}

size_t gang_pick(const struct manifest_part *parts, size_t count, const struct gang_taker *taker,
		 bool *takes)
{
	size_t taken = 0;

	for (size_t i = 0; i < count; i++)
		takes[i] = false;
	if (taker->choice == GANG_PARTS_ALL && taker->members > 0)
		return take_all(count, takes);
	if (taker->members <= 1 || !gang_manifest_is_of(parts, count, taker->members))
		return 0;
	for (size_t i = 0; i < count; i++)
		if (i == taker->member || (taker->sharers && taker->sharers[i]))
			takes[keeper_of(parts, i)] = true;
	if (taker->choice == GANG_PARTS_AUTO && has_little(parts, count, takes))
		return take_all(count, takes);
	for (size_t i = 0; i < count; i++)
		taken += takes[i];
	return taken;
}
