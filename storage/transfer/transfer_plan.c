#include "transfer_plan.h"

#include "base/clock.h"
#include "storage/format/format.h"

#define MIB ((uint64_t)1 << 20)
#define MEMORY_DEFAULT (256 * MIB)
#define MEMORY_LEAST (32 * MIB)
#define PACK_LEAST (8 * MIB)
#define PACK_USUAL (16 * MIB)
#define PACK_EXTRA (PACK_CAPACITY - PACK_TARGET) /* index and footer */
#define CONNECTIONS_MOST 64
#define UPLOADERS_REMOTE 8
#define FETCHERS_REMOTE 16
#define SPAN_LEAST (8 * MIB)
#define SPAN_MOST (32 * MIB) /* a whole pack */
#define RESERVE_MOST_MS 2000

static uint64_t clamp_value(uint64_t value, uint64_t least, uint64_t most)
{
	if (value < least)
		return least;
	return value > most ? most : value;
}

static unsigned connection_count(const struct transfer_plan_facts *facts, unsigned remote)
{
	unsigned chosen = facts->connections ? facts->connections
			  : facts->remote    ? remote
					     : facts->processors;

	return (unsigned)clamp_value(chosen, 1, CONNECTIONS_MOST);
}

/* Half of the memory is for packs that are being filled, small ones if need be. Each reader also
 * has a buffer to compress into. */
static void plan_up(const struct transfer_plan_facts *facts, uint64_t memory,
		    struct transfer_plan *plan)
{
	uint64_t per_reader = PACK_LEAST + PACK_EXTRA + CHUNK_SIZE, rest, share, target;

	plan->uploaders = connection_count(facts, UPLOADERS_REMOTE);
	plan->readers = (unsigned)clamp_value(facts->processors, 1,
					      clamp_value(memory / 2 / per_reader, 1, 64));
	rest = memory - plan->readers * CHUNK_SIZE;
	share = rest / (plan->readers + plan->uploaders);
	/* S3 advises 8 to 16 MB a request; what is more only takes memory, and touching memory for
	 * the first time costs as much as reading a file. A bandwidth limit is kept by pauses
	 * between packs, so packs must be small. */
	target = clamp_value(share > PACK_EXTRA ? share - PACK_EXTRA : 0, PACK_LEAST, PACK_USUAL);
	if (facts->bandwidth)
		target = PACK_LEAST;
	plan->pack_target = (size_t)(target - target % CHUNK_SIZE);
	/* One for each that fills and each that sends: more would only be filled and wait. */
	plan->buffers = (unsigned)clamp_value(rest / (plan->pack_target + PACK_EXTRA), 2,
					      plan->readers + (uint64_t)plan->uploaders);
}

static void plan_down(const struct transfer_plan_facts *facts, uint64_t memory,
		      struct transfer_plan *plan)
{
	plan->fetchers = (unsigned)clamp_value(connection_count(facts, FETCHERS_REMOTE), 1,
					       memory / (2 * CHUNK_SIZE));
	/* A local store has no latency to hide: one chunk at a time shares the work best. */
	plan->span = facts->remote ? SPAN_MOST : CHUNK_SIZE;
}

size_t transfer_plan_span(const struct transfer_plan *plan, uint64_t left)
{
	uint64_t share = left / (2 * (uint64_t)plan->fetchers);

	return (size_t)clamp_value(share, plan->span < SPAN_LEAST ? plan->span : SPAN_LEAST,
				   plan->span);
}

void transfer_plan(const struct transfer_plan_facts *facts, struct transfer_plan *plan)
{
	uint64_t memory = facts->memory ? facts->memory : MEMORY_DEFAULT;

	*plan = (struct transfer_plan){0};
	if (memory < MEMORY_LEAST)
		memory = MEMORY_LEAST;
	plan_up(facts, memory, plan);
	plan_down(facts, memory, plan);
}

int64_t transfer_plan_reserve_ms(int64_t left_ms, bool remote)
{
	int64_t share = left_ms / 5;

	if (!remote || left_ms == CLOCK_NEVER)
		return 0;
	return share < RESERVE_MOST_MS ? share : RESERVE_MOST_MS;
}
