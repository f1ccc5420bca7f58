#include "lineage.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static const char *const policy_names[] = {
	[RESTORE_LATEST] = "latest",
	[RESTORE_NONE] = "none",
	[RESTORE_SPECIFIC] = "this",
};

const char *restore_policy_name(enum restore_policy policy)
{
	return policy_names[policy];
}

bool restore_policy_parse(const char *name, enum restore_policy *policy)
{
	for (size_t i = 0; i < sizeof(policy_names) / sizeof(policy_names[0]); i++) {
		if (!text_equal(name, policy_names[i]))
			continue;
		*policy = (enum restore_policy)i;
		return true;
	}
	return false;
}

size_t lineage_attempt_from(const struct lineage_attempt *attempts, size_t count, uint32_t number)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (attempts[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static const struct lineage_attempt *find_attempt(const struct lineage *lineage, uint32_t number)
{
	size_t i = lineage_attempt_from(lineage->attempts, lineage->attempt_count, number);

	return i < lineage->attempt_count && lineage->attempts[i].number == number
		       ? &lineage->attempts[i]
		       : NULL;
}

/* The newest attempt before `number` of which anything is left; 0: none. Any writer of the store
 * can make the numbers in between many. */
static uint32_t attempt_before(const struct lineage *lineage, uint32_t number)
{
	size_t claims = lineage_attempt_from(lineage->attempts, lineage->attempt_count, number);
	size_t snapshots = lineage_first_from(lineage, (struct snapshot_id){number, 0});
	uint32_t claimed = claims > 0 ? lineage->attempts[claims - 1].number : 0;
	uint32_t saved = snapshots > 0 ? lineage->snapshots[snapshots - 1].attempt : 0;

	return claimed > saved ? claimed : saved;
}

/* A start of the same or a later attempt is nonsense: every walk must end. */
static bool counts(const struct lineage_attempt *attempt)
{
	return attempt->known && !attempt->unconfirmed && attempt->start.attempt < attempt->number;
}

bool lineage_has_ended(const struct lineage_attempt *attempt)
{
	return attempt->ended || (attempt->by_hand && !attempt->unconfirmed);
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

size_t lineage_first_from(const struct lineage *lineage, struct snapshot_id id)
{
	size_t low = 0, high = lineage->snapshot_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (snapshot_id_compare(lineage->snapshots[middle], id) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The snapshot that the chain continues with after the attempt's own ones. It always belongs to an
 * older attempt, so that every walk ends. */
static struct snapshot_id chain_predecessor(const struct lineage *lineage, uint32_t number)
{
	const struct lineage_attempt *attempt = find_attempt(lineage, number);

	if (attempt && counts(attempt))
		return attempt->start;
	return (struct snapshot_id){
		.attempt = attempt_before(lineage, number),
		.sequence = UINT32_MAX,
	};
}

/* Fills `chain` with the positions of the snapshots on the chain that begins at `head`. */
static size_t walk_chain(const struct lineage *lineage, struct snapshot_id head, size_t *chain)
{
	size_t count = 0, left = lineage->snapshot_count;

	for (; head.attempt > 0; head = chain_predecessor(lineage, head.attempt))
		for (; left > 0 && lineage->snapshots[left - 1].attempt >= head.attempt; left--) {
			struct snapshot_id id = lineage->snapshots[left - 1];

			if (id.attempt == head.attempt && id.sequence <= head.sequence)
				chain[count++] = left - 1;
		}
	return count;
}

size_t lineage_chain(const struct lineage *lineage, uint32_t newest, struct snapshot_id *chain)
{
	auto_free size_t *places = memory_new((lineage->snapshot_count + 1) * sizeof(*places));
	size_t count = walk_chain(lineage, (struct snapshot_id){newest, UINT32_MAX}, places);

	for (size_t i = 0; i < count; i++)
		chain[i] = lineage->snapshots[places[i]];
	return count;
}

/* Of those that are listed; 0: none is. */
static uint32_t newest_sequence(const struct lineage *lineage, uint32_t number)
{
	size_t behind = lineage_first_from(lineage, (struct snapshot_id){number, UINT32_MAX});

	return behind > 0 && lineage->snapshots[behind - 1].attempt == number
		       ? lineage->snapshots[behind - 1].sequence
		       : 0;
}

/* A save that failed has taken a number, and so has one that was removed. */
#define ASK_AHEAD 8

struct snapshot_id lineage_ask_next(const struct lineage *lineage, struct snapshot_id asked)
{
	uint32_t from = asked.attempt + 1;
	size_t at;

	if (asked.attempt > 0 &&
	    asked.sequence < newest_sequence(lineage, asked.attempt) + ASK_AHEAD)
		return (struct snapshot_id){asked.attempt, asked.sequence + 1};
	if (asked.attempt == 0 && lineage->snapshot_count > 0)
		from = lineage->snapshots[lineage->snapshot_count - 1].attempt;
	at = lineage_attempt_from(lineage->attempts, lineage->attempt_count, from);
	if (at == lineage->attempt_count)
		return (struct snapshot_id){0};
	from = lineage->attempts[at].number;
	return (struct snapshot_id){from, newest_sequence(lineage, from) + 1};
}

static bool has_snapshot(const struct lineage *lineage, struct snapshot_id head)
{
	size_t first = lineage_first_from(lineage, (struct snapshot_id){head.attempt, 0});

	return first < lineage->snapshot_count &&
	       snapshot_id_compare(lineage->snapshots[first], head) <= 0;
}

uint32_t lineage_next_unread(const struct lineage *lineage, uint32_t newest, uint32_t until)
{
	struct snapshot_id head = {.attempt = newest, .sequence = UINT32_MAX};

	while (head.attempt > until && (until > 0 || !has_snapshot(lineage, head))) {
		const struct lineage_attempt *attempt = find_attempt(lineage, head.attempt);

		if (attempt && attempt->unread && !attempt->unconfirmed)
			return head.attempt;
		head = chain_predecessor(lineage, head.attempt);
	}
	return 0;
}

static bool is_behind(const struct lineage *lineage, struct snapshot_id head, struct snapshot_id id)
{
	while (head.attempt > id.attempt)
		head = chain_predecessor(lineage, head.attempt);
	return head.attempt == id.attempt && id.sequence <= head.sequence;
}

/* Why the claim left the snapshot behind. */
static enum snapshot_state state_by(const struct lineage_attempt *claim, struct snapshot_id id)
{
	if (snapshot_id_compare(claim->suspect, id) == 0)
		return SNAPSHOT_SUSPECT;
	return claim->policy == RESTORE_LATEST ? SNAPSHOT_FENCED : SNAPSHOT_SUPERSEDED_BY_RESTORE;
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

		if (claim->number > id.attempt && counts(claim) &&
		    !is_behind(lineage, claim->start, id))
			return state_by(claim, id);
	}
	return SNAPSHOT_FENCED;
}

void lineage_states(const struct lineage *lineage, enum snapshot_state *states)
{
	size_t count = lineage->snapshot_count, length;
	auto_free size_t *chain = memory_new((count + 1) * sizeof(*chain));
	auto_free bool *left = memory_new(count + 1), *led = memory_new(count + 1);
	struct snapshot_id newest = {lineage_newest_attempt(lineage), UINT32_MAX};

	for (size_t i = 0; i < count; i++)
		states[i] = SNAPSHOT_FENCED;
	for (size_t i = 0; i < lineage->attempt_count; i++) {
		const struct lineage_attempt *claim = &lineage->attempts[i];

		if (!counts(claim))
			continue;
		memset(led, 0, count);
		length = walk_chain(lineage, claim->start, chain);
		for (size_t j = 0; j < length; j++)
			led[chain[j]] = true;
		for (size_t j = 0; j < count && lineage->snapshots[j].attempt < claim->number; j++)
			if (!led[j] && !left[j]) {
				left[j] = true;
				states[j] = state_by(claim, lineage->snapshots[j]);
			}
	}
	length = walk_chain(lineage, newest, chain);
	for (size_t j = 0; j < length; j++)
		states[chain[j]] = SNAPSHOT_GOOD;
}
