#include "pack_wear.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "storage/format/format.h"

#include <stdlib.h>

void pack_wear_add_chunk(struct pack_wear *pack, uint64_t stored)
{
	if (pack->used == 0)
		pack->used = PACK_MAGIC_SIZE + PACK_FOOTER_SIZE;
	pack->used += stored + PACK_RECORD_SIZE;
}

/* The least use first; of two with the same, the one that frees more. */
static int compare_use(const void *a, const void *b)
{
	const struct pack_wear *first = *(struct pack_wear *const *)a;
	const struct pack_wear *second = *(struct pack_wear *const *)b;
	double x = (double)first->used / (double)first->bytes;
	double y = (double)second->used / (double)second->bytes;

	if (x != y)
		return x < y ? -1 : 1;
	if (first->bytes != second->bytes)
		return first->bytes > second->bytes ? -1 : 1;
	return first < second ? -1 : first > second;
}

static uint64_t dead_bytes(const struct pack_wear *pack)
{
	return pack->bytes > pack->used ? pack->bytes - pack->used : 0;
}

static uint64_t times(uint64_t bytes, uint64_t count)
{
	uint64_t product;

	return __builtin_mul_overflow(bytes, count, &product) ? UINT64_MAX : product;
}

static uint64_t sum(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

uint64_t pack_wear_reserve(uint64_t used)
{
	return used / 32;
}

/* For all snapshots and the next one, if none shares anything with another. */
static uint64_t needed_room(uint64_t used, uint32_t kept)
{
	return sum(times(used, (uint64_t)kept + 1), pack_wear_reserve(used));
}

uint64_t pack_wear_room(uint64_t used, uint64_t dead, uint32_t kept)
{
	return sum(needed_room(used, kept), dead);
}

/* Whether the next snapshot finds no room, even if it shares nothing with this one. */
static bool leaves_no_room(uint64_t used, uint64_t dead, const struct pack_wear_bounds *bounds)
{
	uint64_t needed = needed_room(used, bounds->kept);

	if (bounds->room == 0 || bounds->kept == 0 || (bounds->room < needed && bounds->kept > 1))
		return false;
	return pack_wear_room(used, dead, bounds->kept) > bounds->room;
}

static bool is_too_much(uint64_t used, uint64_t dead, const struct pack_wear_bounds *bounds)
{
	return (bounds->snapshots > 0 && dead / bounds->snapshots > used / 2) ||
	       (dead > 0 && leaves_no_room(used, dead, bounds));
}

/* What is sent anew takes room itself, until the commit. */
static uint64_t limit_of(uint64_t used, uint64_t dead, const struct pack_wear_bounds *bounds)
{
	uint64_t most = bounds->most && bounds->most < used / 4 ? bounds->most : used / 4;

	if (leaves_no_room(used, dead, bounds))
		return bounds->left;
	return bounds->room > 0 && bounds->left < most ? bounds->left : most;
}

uint64_t pack_wear_decide(struct pack_wear *packs, size_t count,
			  const struct pack_wear_bounds *bounds)
{
	auto_free struct pack_wear **order = memory_new((count + 1) * sizeof(struct pack_wear *));
	uint64_t used = 0, dead = 0, given_up = 0, most;
	size_t candidates = 0;

	for (size_t i = 0; i < count; i++) {
		packs[i].worn = false;
		used += packs[i].used;
		dead += dead_bytes(&packs[i]);
		if (dead_bytes(&packs[i]) > 0)
			order[candidates++] = &packs[i];
	}
	most = limit_of(used, dead, bounds);
	if (candidates > 0)
		qsort(order, candidates, sizeof(struct pack_wear *), compare_use);
	for (size_t i = 0; i < candidates && is_too_much(used, dead, bounds); i++) {
		if (given_up + order[i]->used > most)
			continue;
		order[i]->worn = true;
		given_up += order[i]->used;
		dead -= dead_bytes(order[i]);
	}
	return given_up;
}
