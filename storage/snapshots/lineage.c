#include "lineage.h"

static const struct lineage_attempt *find_attempt(const struct lineage *lineage, uint32_t number)
{
	for (size_t i = 0; i < lineage->attempt_count; i++)
		if (lineage->attempts[i].number == number)
			return &lineage->attempts[i];
	return NULL;
}

uint32_t lineage_newest_attempt(const struct lineage *lineage)
{
	uint32_t newest = 0;

	if (lineage->attempt_count)
		newest = lineage->attempts[lineage->attempt_count - 1].number;
	if (lineage->snapshot_count &&
	    lineage->snapshots[lineage->snapshot_count - 1].attempt > newest)
		newest = lineage->snapshots[lineage->snapshot_count - 1].attempt;
	return newest;
}

/* The snapshot that the chain continues with after the attempt's own ones. It always belongs to an
 * older attempt, so that every walk ends. */
static struct snapshot_id chain_predecessor(const struct lineage *lineage, uint32_t number)
{
	const struct lineage_attempt *attempt = find_attempt(lineage, number);

	if (attempt && attempt->known && attempt->start.attempt < number)
		return attempt->start;
	if (number <= 1)
		return (struct snapshot_id){0};
	return (struct snapshot_id){.attempt = number - 1, .sequence = UINT32_MAX};
}

size_t lineage_chain_from(const struct lineage *lineage, struct snapshot_id head,
			  struct snapshot_id *chain)
{
	size_t count = 0, left = lineage->snapshot_count;

	while (head.attempt > 0) {
		for (; left > 0; left--) {
			struct snapshot_id id = lineage->snapshots[left - 1];

			if (id.attempt < head.attempt)
				break;
			if (id.attempt == head.attempt && id.sequence <= head.sequence)
				chain[count++] = id;
		}
		head = chain_predecessor(lineage, head.attempt);
	}
	return count;
}

size_t lineage_chain(const struct lineage *lineage, uint32_t newest, struct snapshot_id *chain)
{
	struct snapshot_id head = {.attempt = newest, .sequence = UINT32_MAX};

	return lineage_chain_from(lineage, head, chain);
}

static bool is_behind(const struct lineage *lineage, struct snapshot_id head, struct snapshot_id id)
{
	while (head.attempt > id.attempt)
		head = chain_predecessor(lineage, head.attempt);
	return head.attempt == id.attempt && id.sequence <= head.sequence;
}

/* Only the first claim that leaves a snapshot behind explains why: the later ones merely continue
 * from that claim. */
enum snapshot_state lineage_state(const struct lineage *lineage, struct snapshot_id id)
{
	struct snapshot_id head = {lineage_newest_attempt(lineage), UINT32_MAX};

	if (is_behind(lineage, head, id))
		return SNAPSHOT_GOOD;
	for (size_t i = 0; i < lineage->attempt_count; i++) {
		const struct lineage_attempt *claim = &lineage->attempts[i];

		if (claim->number <= id.attempt || !claim->known ||
		    is_behind(lineage, claim->start, id))
			continue;
		if (snapshot_id_compare(claim->suspect, id) == 0)
			return SNAPSHOT_SUSPECT;
		return claim->policy == RESTORE_LATEST ? SNAPSHOT_FENCED
						       : SNAPSHOT_SUPERSEDED_BY_RESTORE;
	}
	return SNAPSHOT_FENCED;
}
