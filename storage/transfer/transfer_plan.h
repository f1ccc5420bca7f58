/* PURE. How much a transfer does at once, from what the machine has and the user allows; and the
 * time that belongs to the commit. */
#ifndef TRANSFER_PLAN_H
#define TRANSFER_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct transfer_plan_facts {
	unsigned processors; /* for hashing and verifying */
	/* 0: 8 up and 16 down for a remote store, one per processor for a local one */
	unsigned connections;
	uint64_t memory;    /* bytes for buffers; 0: 256 MiB */
	uint64_t bandwidth; /* bytes per second; 0: no limit */
	bool remote;
};

struct transfer_plan {
	/* up */
	unsigned readers; /* read, hash and pack: each fills one buffer */
	unsigned uploaders;
	unsigned buffers;   /* of one pack each */
	size_t pack_target; /* payload of a pack: whole chunks, 8 to 32 MiB */
	/* down */
	unsigned fetchers; /* each has a span and a chunk in memory */
	size_t span; /* neighbouring chunks are asked for in one request up to so many bytes */
};

/* Memory too small for anything is taken for the least that works (about 32 MiB). */
void transfer_plan(const struct transfer_plan_facts *facts, struct transfer_plan *plan);

/* Of what is left before the deadline, what packs must leave alone: the look at the attempts and
 * the manifest come after them. */
int64_t transfer_plan_reserve_ms(int64_t left_ms, bool remote);

#endif
