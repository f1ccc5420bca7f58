/* PRIVATE: removes the packs that no manifest names (FORMAT.md, "Forgetting and collecting
 * garbage"). */
#ifndef GARBAGE_COLLECT_H
#define GARBAGE_COLLECT_H

#include "inventory.h"

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

#endif
