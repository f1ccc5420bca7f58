#include "store_model.h"

#include "base/cleanup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first choice is always: the machine goes on, and what it does works. */
struct choice {
	unsigned count, taken;
};

static struct {
	struct choice *choices;
	size_t depth, length, capacity;
	/* Of the choices, so many are given: no state is met there for the first time. */
	size_t given;
	bool by_chance, deep;
	unsigned depth_most;
	uint64_t chance;
	unsigned rarity;
	/* Hashes of the states that were met. */
	uint64_t *states;
	size_t state_count, state_capacity;
	uint64_t decisions;
} search;

/* --- states --- */

static uint64_t state_of(const struct world *world)
{
	uint64_t hash = memory_objects_hash(&world->objects);
	uint64_t facts[] = {
		hash,
		world->now ? world->now->index : MACHINES_MOST,
		world->switched,
		world->switches,
		world->faults,
		world->deaths,
		world->order,
	};

	hash = memory_hash(4, facts, sizeof(facts));
	for (size_t i = 0; i < world->scene->machines; i++) {
		const struct machine *machine = &world->machines[i];
		uint64_t own[] = {machine->seen, machine->runnable, machine->begun, machine->dead};

		hash = memory_hash(hash, own, sizeof(own));
	}
	return hash ? hash : 1;
}

static size_t slot_of(uint64_t state)
{
	size_t at = state & (search.state_capacity - 1);

	while (search.states[at] && search.states[at] != state)
		at = (at + 1) & (search.state_capacity - 1);
	return at;
}

static void grow_states(void)
{
	uint64_t *old = search.states;
	size_t count = search.state_capacity;

	search.state_capacity = count ? 2 * count : 1 << 14;
	search.states = memory_new(search.state_capacity * sizeof(*search.states));
	for (size_t i = 0; i < count; i++)
		if (old[i])
			search.states[slot_of(old[i])] = old[i];
	free(old);
}

/* True: it was met before. */
static bool meet_state(uint64_t state)
{
	size_t at;

	if (2 * (search.state_count + 1) > search.state_capacity)
		grow_states();
	at = slot_of(state);
	if (search.states[at])
		return true;
	search.states[at] = state;
	search.state_count++;
	return false;
}

/* --- choices --- */

static uint64_t next_chance(void)
{
	search.chance ^= search.chance << 13;
	search.chance ^= search.chance >> 7;
	search.chance ^= search.chance << 17;
	return search.chance;
}

static void push_choice(unsigned count, unsigned taken)
{
	if (search.length == search.capacity) {
		search.capacity = search.capacity ? 2 * search.capacity : 256;
		search.choices =
			memory_grow(search.choices, search.capacity, sizeof(*search.choices));
	}
	search.choices[search.length++] = (struct choice){count, taken};
	search.depth++;
}

unsigned search_choose(struct world *world, unsigned count)
{
	unsigned taken = 0;

	if (world->abandoned || count < 2)
		return 0;
	search.decisions++;
	if (search.depth < search.given) {
		struct choice *choice = &search.choices[search.depth++];

		if (choice->count == 0)
			choice->count = count;
		if (choice->count != count || choice->taken >= count)
			model_wrong(world, "the model is not deterministic: %u choices, then %u",
				    choice->count, count);
		return choice->taken < count ? choice->taken : 0;
	}
	if (search.by_chance && next_chance() % search.rarity == 0)
		taken = (unsigned)(next_chance() % count);
	else if (!search.by_chance && meet_state(state_of(world)))
		world->abandoned = true;
	else
		taken = 0;
	if (!world->abandoned)
		push_choice(count, taken);
	return taken;
}

/* The next path, depth first; false: that was the last. */
static bool next_path(void)
{
	while (search.length > 0 && search.choices[search.length - 1].taken + 1 ==
					    search.choices[search.length - 1].count)
		search.length--;
	if (search.length == 0)
		return false;
	search.choices[search.length - 1].taken++;
	return true;
}

static void print_choices(struct search_result *result)
{
	size_t used = 0;

	result->choices[used++] = search.deep ? '~' : (char)('0' + search.depth_most);
	result->choices[used] = '\0';
	for (size_t i = 0; i < search.depth && used + 24 < sizeof(result->choices); i++)
		if (search.choices[i].taken > 0)
			used += (size_t)snprintf(result->choices + used,
						 sizeof(result->choices) - used, "%s%zu=%u", " ", i,
						 search.choices[i].taken);
}

struct bounds search_bounds(void)
{
	static const struct bounds deep = {12, 3, 2, 15};

	return search.deep ? deep
			   : (struct bounds){search.depth_most, search.depth_most > 0, 1,
					     search.depth_most};
}

/* --- histories --- */

static void begin_search(void)
{
	free(search.choices);
	free(search.states);
	memset(&search, 0, sizeof(search));
}

static void run_once(struct world *world, const struct memory_objects *before,
		     struct search_result *result)
{
	search.depth = 0;
	world_run(world, before);
	result->histories++;
	if (world->wrong[0])
		print_choices(result);
}

static void end_search(struct memory_objects *before, struct search_result *result)
{
	result->decisions = search.decisions;
	result->states = search.state_count;
	memory_objects_release(before);
	begin_search();
}

void search_all(struct world *world, unsigned depth, struct search_result *result)
{
	struct memory_objects before = {0};

	*result = (struct search_result){0};
	begin_search();
	search.depth_most = depth;
	script_before(world, &before);
	do {
		search.given = search.length;
		run_once(world, &before, result);
	} while (!world->wrong[0] && next_path());
	end_search(&before, result);
}

void search_random(struct world *world, uint64_t seed, uint64_t count, struct search_result *result)
{
	struct memory_objects before = {0};

	*result = (struct search_result){0};
	begin_search();
	script_before(world, &before);
	search.by_chance = search.deep = true;
	for (uint64_t i = 0; i < count && !world->wrong[0]; i++) {
		search.length = 0;
		search.chance = (seed + i) * 0x9e3779b97f4a7c15u | 1;
		for (int j = 0; j < 4; j++)
			next_chance();
		search.rarity = 6 + (unsigned)(next_chance() % 30);
		run_once(world, &before, result);
	}
	end_search(&before, result);
}

void search_replay(struct world *world, const char *choices, struct search_result *result)
{
	struct memory_objects before = {0};
	char *rest = NULL;

	*result = (struct search_result){0};
	begin_search();
	script_before(world, &before);
	search.deep = *choices == '~';
	search.depth_most = (unsigned)(*choices - '0');
	choices += strcspn(choices, " ");
	choices += strspn(choices, " ");
	while (*choices) {
		size_t at = strtoul(choices, &rest, 10);
		unsigned taken = *rest == '=' ? (unsigned)strtoul(rest + 1, &rest, 10) : 0;

		while (search.length < at)
			push_choice(0, 0);
		push_choice(0, taken);
		choices = rest + strspn(rest, " ");
	}
	search.given = search.length;
	search.by_chance = true;
	search.chance = 1;
	search.rarity = UINT32_MAX;
	run_once(world, &before, result);
	end_search(&before, result);
}
