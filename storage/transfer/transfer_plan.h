/* PURE. Decides how much a transfer does at once, from what the machine has and the user allows,
 * and how much time is reserved for the commit. */
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
	/* uploading */
	unsigned readers; /* read, hash and pack: each fills one buffer */
	unsigned uploaders;
	unsigned buffers;   /* of one pack each */
	size_t pack_target; /* payload of a pack: whole chunks, 8 to 32 MiB */
	/* fetching */
	unsigned fetchers; /* each has at most one chunk in memory, compressed and not */
	size_t span;       /* bytes that one request for neighbouring chunks may ever cover */
};

/* Memory below the minimum that works (about 32 MiB) counts as that minimum. */
void transfer_plan(const struct transfer_plan_facts *facts, struct transfer_plan *plan);

/* Bytes that the next request may cover when `left` are to be fetched: large ones while there are
 * many, which is cheap, and small ones at the end, so that all connections end at about the same
 * time. */
size_t transfer_plan_span(const struct transfer_plan *plan, uint64_t left);

/* The part of the time left before the deadline, in ms, that packs may not use: checking for a
 * newer attempt and writing the manifest come after them. */
int64_t transfer_plan_reserve_ms(int64_t left_ms, bool remote);

#endif
