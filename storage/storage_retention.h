/* PUBLIC, through storage.h. What is kept, what is forgotten, and the packs that are left over. */
#ifndef STORAGE_RETENTION_H
#define STORAGE_RETENTION_H

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "storage/format/snapshot_id.h"
#include "storage_restore.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct storage;

/* What keeps a snapshot. The reasons for one are a set of bits, 1u << reason; without any it may be
 * forgotten. */
enum keep_reason {
	/* These five hold whatever the policy says. The newest good one; and the newest good one
	 * that has a step, in case that the newer ones hold no checkpoint: */
	KEEP_NEWEST,
	/* Newer than that, or there is no good one at all. */
	KEEP_NEWER,
	/* The newest attempt started from it, or one of the newest that has left no end record. */
	KEEP_START,
	KEEP_PINNED,
	/* A newer version wrote it. */
	KEEP_UNKNOWN,

	/* And these are rules of the policy. */
	KEEP_LAST,
	KEEP_DAILY,
	KEEP_WITHIN,
	KEEP_EVERY,
	KEEP_TAG,
	KEEP_REASONS
};
/* "newest", "last", ... */
const char *keep_reason_name(enum keep_reason reason);

/* A snapshot is kept if any rule keeps it. A policy without a rule keeps nothing but what is always
 * kept. 0 stands for no such rule. */
struct forget_policy {
	/* So many good ones, the newest, and the damaged ones among them; and as many superseded
	 * ones. */
	uint32_t keep_last;
	/* The last good one of each day, and the last superseded one: a day of UTC, by the clocks
	 * of those who wrote them. A wrong clock keeps more, never less. */
	bool keep_daily;
	/* No older than that, seen from the newest one or from now, whatever is earlier. */
	int64_t keep_within_ms;
	/* The first good one of every so many steps. */
	int64_t keep_every;
	/* Those with one of these tags; borrowed. */
	const char *const *keep_tags;
	size_t keep_tag_count;
};

#define GARBAGE_AGE_MS (24LL * 3600 * 1000)

struct garbage_result {
	/* With `dry_run`: what would be. */
	uint32_t packs_removed;
	uint64_t bytes_removed;
	/* No snapshot names them, but they are too young, or a snapshot under way may rely on
	 * them. */
	uint32_t packs_deferred;
	uint64_t bytes_deferred;
};

/* What the store refuses to remove: a lease, a hold, a policy of its own. The rest is removed all
 * the same. */
struct forget_refusals {
	uint32_t count;
	/* The first one, in a sentence. */
	char first[400];
};

struct forget_request {
	struct forget_policy policy;
	bool dry_run;
	/* Younger packs stay; 0: GARBAGE_AGE_MS. */
	int64_t garbage_age_ms;
	/* The caller's own, from storage_claim(); 0: it has none. Once a save of it has found the
	 * store full, packs do not stay for their age, as long as it is the newest. */
	uint32_t attempt;
	/* For storage_make_room(). `gives_up_start`: what the attempt itself has started from is
	 * kept only if it is the newest good one, or by the policy. */
	bool is_stuck, gives_up_start;
	/* Called for each snapshot, newest first, before anything is removed. May be NULL. */
	void (*decided)(void *arg, const struct snapshot_info *info, unsigned reasons);
	void *arg;
};

struct forget_result {
	uint32_t kept, forgotten;
	/* Of those that are kept: by the policy alone. Another one would let them go. */
	uint32_t kept_by_policy;
	/* In all packs of the job. */
	uint64_t bytes_before;
	struct garbage_result collected;
	struct forget_refusals refused;
};

/*
 * Forgets what the policy does not keep, then collects garbage. Manifests go first, oldest first,
 * and packs later, so that a crash at any instant leaves whole snapshots and packs that nobody
 * names. Looks again at claims just before it removes, and keeps what is pinned meanwhile. Whatever
 * it returns, what is kept is whole. What the store refuses to remove stays whole too, and is
 * counted. At last it forgets attempts (FORMAT.md, "Attempts"). ERR_RETRY: attempts come and go
 * faster than it can look, or the store does not answer.
 */
int storage_forget(struct storage *storage, const struct forget_request *request,
		   struct forget_result *result, struct cancel *cancel, struct err *err);

/*
 * For an attempt whose save has just ended with ERR_NO_SPACE: forgets what the policy does not keep
 * (NULL: nothing), and removes at once, whatever its age, all that no snapshot needs. True: it has
 * removed something, and the same save, made again, may find room.
 * False: there is nothing, or another attempt has taken over, or the store does not answer; or it
 * is a member of a gang, whose other members may be about to name it. Then *err, which is what the
 * save has said, or NULL, does not advise what cannot help.
 */
bool storage_make_room(struct storage *storage, uint32_t attempt,
		       const struct forget_policy *policy, struct forget_result *result,
		       struct cancel *cancel, struct err *err);

/* A pinned snapshot is kept whatever the policy says. ERR_NOT_FOUND: there is no such snapshot, or
 * it was not pinned. ERR_RETRY: it is just being forgotten. To pin twice is fine. */
int storage_pin(struct storage *storage, struct snapshot_id id, struct cancel *cancel,
		struct err *err);
int storage_unpin(struct storage *storage, struct snapshot_id id, struct cancel *cancel,
		  struct err *err);

#endif
