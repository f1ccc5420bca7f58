/*
 * PURE. What is kept, and why: snapshots by the policy, packs by who may still need them.
 * FORMAT.md, "Forgetting and sweeping", has the argument for why nothing that is needed can go.
 */
#ifndef RETENTION_H
#define RETENTION_H

#include "storage/storage.h"

/* `items` newest first, as storage_list_snapshots() has them; fills one set of reasons for each.
 * `now_ms` is wall time. */
void retention_decide(const struct forget_policy *policy, const struct snapshot_info *items,
		      size_t count, int64_t now_ms, unsigned *reasons);

struct retention_pack {
	struct snapshot_id written_for; /* from its key; none: the key is no pack's */
	bool named;          /* by a manifest, or by one that cannot be read and may name it */
	int64_t modified_ms; /* 0: unknown */
};

enum pack_verdict {
	PACK_NEEDED,
	/* too young, or newer than the newest good snapshot: a take under way may rely on it */
	PACK_DEFER,
	PACK_COLLECT
};

/* `newest_good`: none if there is none. `now_ms` by the store's clock; 0: unknown. */
enum pack_verdict retention_judge_pack(const struct retention_pack *pack,
				       struct snapshot_id newest_good, int64_t now_ms,
				       int64_t age_ms);

/* "packs/000003/000012-<nonce>-0001.pack" -> 3-12; none for anything else. */
struct snapshot_id retention_pack_id(const char *key);

#endif
