/*
 * PRIVATE: what is removed. retention.c decides, forget.c and garbage_collect.c remove snapshots
 * and their packs by inventory.c, attempt_forget.c the attempts that say nothing any more; a pin
 * (pins.c) keeps a snapshot.
 */
#ifndef FORGET_H
#define FORGET_H

#include "base/cleanup.h"
#include "storage/records/records.h"
#include "storage/storage.h"

/*
 * PURE. Decides which snapshots are kept (by the policy) and which packs are garbage (by who may
 * still need them). FORMAT.md, "Forgetting and collecting garbage", argues why nothing needed is
 * removed.
 */

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

/* The caller knows that nobody else saves: the age of a pack does not matter. */
#define RETENTION_ANY_AGE (-1)

/* `newest_good`: the id of the newest good snapshot, or none. `now_ms`: by the store's clock; 0:
 * unknown. `age_ms`: what is younger is deferred; or RETENTION_ANY_AGE. */
enum pack_verdict retention_judge_pack(const struct retention_pack *pack,
				       struct snapshot_id newest_good, int64_t now_ms,
				       int64_t age_ms);

/* The snapshot that a pack was written for: "packs/000003/000012-<nonce>-0001.pack" -> 3-12. None
 * for any other key. */
struct snapshot_id retention_pack_id(const char *key);

/*
 * A snapshot is either pinned or forgotten: whoever puts the record of its pin first
 * decides. Who forgets it removes that record only after the snapshot itself. A user may remove
 * what another `forget` has left, and pin: so who finds such a record puts a sign of its own before
 * it looks again, and whoever pins looks for signs afterwards.
 */

enum pin_record {
	PIN_NONE,
	PIN_PINNED,
	/* By a `forget` that is under way, was killed, or was refused the removal. */
	PIN_FORGETTING,
};

/* PIN_PINNED where it fails. */
int pin_read(struct storage *storage, struct snapshot_id id, enum pin_record *pin,
	     struct cancel *cancel, struct err *err);
/* For whoever is about to remove the snapshot, unless it is *pinned. A full store takes no record,
 * but no pin either, and must be emptied all the same: there the pin is looked up. *sign, if not
 * NULL, even after -1: the key of a sign, which stays as long as a removal may be under way. */
int pin_forbid(struct storage *storage, struct snapshot_id id, bool *pinned, char **sign,
	       struct cancel *cancel, struct err *err);
/* Once the snapshot certainly is gone. Best effort. */
void pin_allow(struct storage *storage, struct snapshot_id id, struct cancel *cancel);

/* reads everything that a job consists of: the snapshots with their states, the pins, and
 * the packs that each manifest names. */

struct inventory {
	struct job_listing listing;
	/* newest first */
	struct snapshot_list list;
};

/* What a manifest said that this process has read: storage->known has one for each snapshot of the
 * newest inventory. */
struct known_snapshot {
	/* Nothing of state, pins or packs. The first member, by which it is found. */
	struct snapshot_info info;
	/* Another object under the same name is another snapshot. A size of 0: it was not read. */
	struct manifest_object object;
	/* Also those that the store lacks. */
	struct manifest_pack *packs;
	size_t pack_count;
	bool unknown; /* it is unreadable: it may name any pack written for its id */
	bool cached;  /* it was read before, and not now */
};

/* Reads all manifests that this process has not read, 16 at a time; that of the
 * newest good snapshot in any case. A damaged snapshot is marked in the list and is no
 * error. The caller frees with inventory_release(). */
int inventory_read(struct storage *storage, struct inventory *inventory, struct cancel *cancel,
		   struct err *err);
void inventory_release(struct inventory *inventory);
AUTO(struct inventory, inventory_release);

/* The item of the list, or NULL; borrowed. */
struct snapshot_info *inventory_find(const struct inventory *inventory, struct snapshot_id id);

/* The pack that a manifest names so, or NULL; borrowed from the listing. */
const struct store_object *inventory_find_pack(const struct storage *storage,
					       const struct store_listing *packs, const char *name);

/* removes the packs that no manifest names (FORMAT.md, "Forgetting and collecting
 * garbage"). */

struct garbage_rule {
	/* Younger packs stay, by the store's own clock. */
	int64_t age_ms;
	/* The number of the caller's own attempt: as long as its claim is in force, nobody else
	 * saves, so the age does not matter (FORMAT.md, "A full store"). 0: it has none, or the age
	 * matters. */
	uint32_t attempt;
	/* With `attempt`: the caller's own save is not under way either, so packs newer than the
	 * newest good snapshot may go as well. */
	bool leftovers;
	bool dry_run;
};

/*
 * Removes a pack when no manifest names it, the rule says that it may go, and no save under way can
 * rely on it. Blocks for one request per removed pack, 16 at a time. Where the age matters, nothing
 * is removed from a store that does not report when an object was put.
 *
 * `inventory` was read before, so its manifests are not read again; gone[i] means that its snapshot
 * i has been removed, or in a dry run would be. The packs are listed first and the manifests
 * after them: a pack of a manifest that is committed meanwhile is either named by that manifest or
 * missing from the list. What the store refuses to remove is added to `refused`. ERR_VERSION:
 * another version has written to this job, and nothing was removed.
 */
int garbage_collect_packs(struct storage *storage, const struct inventory *inventory,
			  const bool *gone, const struct garbage_rule *rule,
			  struct garbage_result *result, struct forget_refusals *refused,
			  struct cancel *cancel, struct err *err);

/* It has failed so that it may still happen. */
bool garbage_is_unanswered(const struct err *err);
/* The removal of `key` failed with `err`. 0: the store refuses it, which is counted, and it goes on
 * with the others. -1: the store does not answer, or we are to stop. */
int garbage_note_refusal(struct forget_refusals *refused, const char *key, struct err *err);

/*
 * attempts are forgotten with their snapshots. The newest ATTEMPTS_KEPT stay, for reports;
 * an older one stays while a snapshot of it does, and while the states of the snapshots that there
 * are depend on it. So a listing has few attempts, however many there ever were.
 */

#define ATTEMPTS_KEPT 64

/* PURE. So many newer attempts are listed that one of this number would have been forgotten: its
 * number was not free. */
bool attempt_is_long_past(const struct lineage *lineage, uint32_t number);

/* PURE. How many attempts have no snapshot, beside the newest. */
size_t attempt_forget_candidates(const struct lineage *lineage);

/* PURE. The attempts that may go, oldest first, `most` at most: `numbers` has room for them. All
 * claims of the lineage were read. Returns how many. */
size_t attempt_forget_select(const struct lineage *lineage, uint32_t *numbers, size_t most);

/* Removes the records and the notes of `most` attempts at most. What the store refuses to remove
 * stays. `listing` is that of job_records_list_lineage(), or a later one; it reads what claims were
 * not read. */
int attempt_forget_run(struct storage *storage, const struct job_listing *listing, size_t most,
		       struct cancel *cancel, struct err *err);

#endif
