/*
 * PURE. Decides which snapshots are kept (by the policy) and which packs are garbage (by who may
 * still need them). FORMAT.md, "Forgetting and collecting garbage", argues why nothing needed is
 * removed.
 */
#ifndef RETENTION_H
#define RETENTION_H

#include "storage/storage.h"

/*
 * Fills reasons[i] with the set of reasons (1u << enum keep_reason) that keep items[i]; 0: it may
 * be forgotten. `items` are newest first, as storage_list_snapshots() returns them; `now_ms` is
 * wall time.
 */
void retention_decide(const struct forget_policy *policy, const struct snapshot_info *items,
		      size_t count, int64_t now_ms, unsigned *reasons);

struct retention_pack {
	/* parsed from the key; none: the key is not that of a pack */
	struct snapshot_id written_for;
	bool named;          /* a manifest names it, or an unreadable manifest may name it */
	int64_t modified_ms; /* 0: unknown */
};

enum pack_verdict {
	PACK_NEEDED,
	/* too young, or newer than the newest good snapshot: a save under way may rely on it */
	PACK_DEFER,
	PACK_COLLECT
};

/* Whoever judges knows that nobody else saves: the age of a pack does not matter. */
#define RETENTION_ANY_AGE (-1)

/* `newest_good`: the id of the newest good snapshot, or none. `now_ms`: by the store's clock; 0:
 * unknown. `age_ms`: what is younger is deferred; or RETENTION_ANY_AGE. */
enum pack_verdict retention_judge_pack(const struct retention_pack *pack,
				       struct snapshot_id newest_good, int64_t now_ms,
				       int64_t age_ms);

/* The snapshot that a pack was written for: "packs/000003/000012-<nonce>-0001.pack" -> 3-12. None
 * for any other key. */
struct snapshot_id retention_pack_id(const char *key);

#endif
