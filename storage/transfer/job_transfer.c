#include "job_transfer.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "storage/format/format.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Decides how much a transfer does at once, from what the machine has and the user allows,
 * and how much time is reserved for the commit. */

#define MIB ((uint64_t)1 << 20)
#define MEMORY_DEFAULT (256 * MIB)
#define MEMORY_LEAST (32 * MIB)
#define PACK_LEAST (8 * MIB)
#define PACK_USUAL (16 * MIB)
#define PACK_EXTRA (PACK_CAPACITY - PACK_TARGET) /* index and footer */
#define CONNECTIONS_MOST 64
#define UPLOADERS_FIRST 8
#define UPLOADERS_REMOTE 24
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
	plan->uploaders_first =
		facts->connections || !facts->remote ? plan->uploaders : UPLOADERS_FIRST;
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
	plan->buffers = (unsigned)clamp_value(rest / (plan->pack_target + PACK_EXTRA), 2,
					      2 * plan->readers + (uint64_t)plan->uploaders);
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

/*
 * Decides which upload is late compared with the others and is sent a second time. About one
 * in a thousand puts to S3 is acknowledged after 5 s instead of 0.2 s (awslabs/aws-c-s3, its upload
 * straggler timeout), and a notice of 30 s cannot wait for it.
 */

#define HEDGE_SAMPLES_LEAST 4 /* with fewer samples no upload is late */

#define LATE_LEAST_MS 1000
#define LATE_BEYOND_MS 700

void hedge_add_sample(struct hedge *hedge, int64_t took_ms)
{
	hedge->took_ms[hedge->count++ % HEDGE_SAMPLES] = took_ms;
}

static int compare_times(const void *a, const void *b)
{
	int64_t first = *(const int64_t *)a, second = *(const int64_t *)b;

	return (first > second) - (first < second);
}

int64_t hedge_late_ms(const struct hedge *hedge)
{
	unsigned count = hedge->count < HEDGE_SAMPLES ? hedge->count : HEDGE_SAMPLES;
	int64_t sorted[HEDGE_SAMPLES], late;

	if (count < HEDGE_SAMPLES_LEAST)
		return CLOCK_NEVER;
	memcpy(sorted, hedge->took_ms, count * sizeof(sorted[0]));
	qsort(sorted, count, sizeof(sorted[0]), compare_times);
	late = sorted[(count * 9 + 9) / 10 - 1] + LATE_BEYOND_MS;
	return late > LATE_LEAST_MS ? late : LATE_LEAST_MS;
}

bool hedge_is_due(const struct hedge *hedge, const struct hedge_facts *facts)
{
	unsigned most = facts->connections / 4 ? facts->connections / 4 : 1;

	return facts->sent == 1 && facts->hedged_now < most &&
	       facts->age_ms >= hedge_late_ms(hedge);
}

/* A bandwidth limit: a token bucket that may go into debt, because a pack is sent whole. The
 * next pack waits until the debt is paid. */

#define BURST_MS 1000

int64_t rate_limit_consume(struct rate_limit *rate, uint64_t bytes, int64_t now_ms)
{
	int64_t wait_ms;

	if (rate->bytes_per_second == 0)
		return 0;
	if (rate->paid_ms < now_ms - BURST_MS)
		rate->paid_ms = now_ms - BURST_MS;
	wait_ms = rate->paid_ms > now_ms ? rate->paid_ms - now_ms : 0;
	rate->paid_ms += (int64_t)(bytes * 1000 / rate->bytes_per_second);
	return wait_ms;
}

/* Twice what a reader takes, with the coder, for the next pack (5 ms a chunk, 10 with an old
 * processor): more connections may come, too. */
#define SLACK_LEAST_MS 50

int weights_policy_parse(const char *text, enum weights_policy *policy, struct err *err)
{
	static const char *const names[] = {"auto", "always", "never"};

	*policy = WEIGHTS_AUTO;
	if (!text || !text[0])
		return 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!text_equal(text, names[i]))
			continue;
		*policy = (enum weights_policy)i;
		return 0;
	}
	return err_set(err, ERR_INVALID,
		       "REPRIEVE_STORE_WEIGHTS=\"%.60s\": expected auto, always or never", text);
}

/* The link is what limits, if more is queued than the readers need time to bring the next packs,
 * also with the coder. Where the coder holds the link up, the queue is soon empty. */
bool weights_pay(enum weights_policy policy, bool remote, int64_t slack_ms)
{
	if (policy != WEIGHTS_AUTO)
		return policy == WEIGHTS_ALWAYS;
	return remote && slack_ms >= SLACK_LEAST_MS;
}

void upload_growth_begin(struct upload_growth *growth, const struct transfer_plan *plan,
			 int64_t now_ms)
{
	if (growth->connections == 0)
		growth->connections = plan->uploaders_first;
	growth->began_ms = now_ms;
	growth->packs = 0;
	growth->bytes = 0;
}

void upload_growth_add(struct upload_growth *growth, const struct transfer_plan *plan,
		       uint64_t bytes, int64_t now_ms)
{
	uint64_t rate;

	growth->bytes += bytes;
	if (++growth->packs < growth->connections)
		return;
	rate = growth->bytes * 1000 / (uint64_t)(now_ms - growth->began_ms + 1);
	if (rate > growth->best + growth->best / 8) {
		growth->best = rate;
		growth->connections =
			(unsigned)clamp_value(growth->connections * 3 / 2, 1, plan->uploaders);
	}
	upload_growth_begin(growth, plan, now_ms);
}

void transfer_drop_early(struct transfer *transfer)
{
	free(transfer->early.key);
	bytes_release(&transfer->early.data);
	transfer->early = (struct early_pack){0};
}

char *transfer_pack_key(const struct transfer *transfer, const char *key)
{
	return text_format("jobs/%s/%s", transfer->job, key);
}

char *transfer_aside_key(const struct transfer *transfer, const char *key)
{
	return text_format("jobs/%s/damaged/%s", transfer->job, key + strlen("packs/"));
}
