#include "pack_wear.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <stdlib.h>

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

uint64_t pack_wear_decide(struct pack_wear *packs, size_t count, uint32_t snapshots, uint64_t most)
{
	auto_free struct pack_wear **order = memory_new((count + 1) * sizeof(struct pack_wear *));
	uint64_t used = 0, dead = 0, given_up = 0;
	size_t candidates = 0;

	for (size_t i = 0; i < count; i++) {
		packs[i].worn = false;
		used += packs[i].used;
		dead += dead_bytes(&packs[i]);
		if (dead_bytes(&packs[i]) > 0)
			order[candidates++] = &packs[i];
	}
	if (most == 0 || most > used / 4)
		most = used / 4;
	if (candidates > 0)
		qsort(order, candidates, sizeof(struct pack_wear *), compare_use);
	for (size_t i = 0; snapshots > 0 && i < candidates && dead / snapshots > used / 2; i++) {
		if (given_up + order[i]->used > most)
			continue;
		order[i]->worn = true;
		given_up += order[i]->used;
		dead -= dead_bytes(order[i]);
	}
	return given_up;
}
