/*
 * What must be true when all machines have ended. A machine that comes afterwards, to which nothing
 * happens, finds:
 *
 *	1  what was told durable is on the chain and whole, until retention removes it by its rule
 *	   or the user leaves it;
 *	2  nobody has restored what was late, torn or damaged;
 *	3  all that was told durable is on one line: no two machines were both in force;
 *	4  it starts from the newest of it, and can restore each that is said to be good; also after
 *	   a garbage collection of all that is old.
 */
#include "store_model.h"

#include "base/cleanup.h"

#include <stdio.h>
#include <string.h>

static const struct snapshot_info *find_listed(const struct snapshot_list *list,
					       struct snapshot_id id)
{
	for (size_t i = 0; i < list->count; i++)
		if (snapshot_id_compare(list->items[i].id, id) == 0)
			return &list->items[i];
	return NULL;
}

static bool has_newer_good(const struct snapshot_list *list, struct snapshot_id id)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].state == SNAPSHOT_GOOD &&
		    snapshot_id_compare(list->items[i].id, id) > 0)
			return true;
	return false;
}

static const char *judge_told(const struct world *world, const struct snapshot_list *list,
			      const struct commit *commit)
{
	const struct snapshot_info *info = find_listed(list, commit->id);
	bool pinned = world->pinned && commit->id.attempt == 1 && commit->id.sequence == 1;
	bool by_rule =
		world->forgot && !pinned &&
		(has_newer_good(list, commit->id) || world->chosen_by_user || world->damaged);

	if (!info)
		return by_rule || commit->hurt || world->stray ? NULL : "gone";
	switch (info->state) {
	case SNAPSHOT_GOOD:
		return NULL;
	case SNAPSHOT_SUPERSEDED_BY_RESTORE:
		return world->chosen_by_user ? NULL : "superseded";
	case SNAPSHOT_DAMAGED:
		return commit->hurt ? NULL : info->damage;
	case SNAPSHOT_FENCED:
	case SNAPSHOT_SUSPECT:
		break;
	}
	/* The case that remains (FORMAT.md, "An emptied store"). */
	return commit->hurt || world->stray ? NULL : "late";
}

/* 1 and 3. */
static void check_told(struct world *world, const struct snapshot_list *list)
{
	for (size_t i = 0; i < world->commit_count; i++) {
		const struct commit *commit = &world->commits[i];
		const char *wrong = commit->told ? judge_told(world, list, commit) : NULL;
		char text[SNAPSHOT_ID_TEXT];

		if (wrong)
			model_wrong(world, "%s was told durable, and is: %s",
				    snapshot_id_format(commit->id, text), wrong);
	}
}

/* Claim `by` counted before the other one was put, and took no notice of the commit, which came
 * after it. */
static bool left_behind(const struct claiming *by, const struct claiming *claiming,
			const struct commit *commit)
{
	return commit->id.attempt < by->number && by->number < claiming->number &&
	       by->confirmed_at > 0 && by->confirmed_at < claiming->put_at &&
	       commit->put_at > by->put_at;
}

/* 2: what is late. What is torn is seen where it is restored. In a store that was emptied, the same
 * ids are used twice. */
static void check_starts(struct world *world)
{
	if (world->emptied)
		return;
	for (size_t i = 0; i < world->claim_count; i++) {
		const struct claiming *claiming = &world->claims[i];
		const struct commit *commit;
		char text[SNAPSHOT_ID_TEXT];

		if (!claiming->returned || claiming->policy != RESTORE_LATEST ||
		    snapshot_id_is_none(claiming->start))
			continue;
		commit = model_commit(world, claiming->start);
		snapshot_id_format(claiming->start, text);
		for (size_t j = 0; j < world->claim_count; j++)
			if (left_behind(&world->claims[j], claiming, commit))
				model_wrong(world, "attempt %u has started from %s, which is late",
					    claiming->number, text);
	}
}

/* 1: what an attempt starts from. Whoever forgets looks for new claims right before it begins to
 * remove, so it has seen each that was confirmed by then. */
static void check_forgotten(struct world *world)
{
	for (size_t i = 0; i < world->claim_count && !world->emptied; i++) {
		const struct claiming *claiming = &world->claims[i];
		const struct commit *commit;
		unsigned decided;
		char text[SNAPSHOT_ID_TEXT];

		if (!claiming->returned || snapshot_id_is_none(claiming->start))
			continue;
		commit = model_commit(world, claiming->start);
		decided = commit->forgotten_at;
		/* Where there is no room, not its own, which it has restored. */
		if (commit->forgotten_full == claiming->number)
			continue;
		/* Nor that of an older attempt than the newest. */
		if (commit->forgotten_full > 0 && model_is_fenced(world, claiming->number, decided))
			continue;
		if (claiming->confirmed_at > 0 && claiming->confirmed_at < decided &&
		    (claiming->ended_at == 0 || claiming->ended_at > decided))
			model_wrong(world, "%s was forgotten, and attempt %u had started from it",
				    snapshot_id_format(claiming->start, text), claiming->number);
	}
}

static void check_restores(struct world *world, struct storage *storage,
			   const struct snapshot_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		char text[SNAPSHOT_ID_TEXT];
		struct err err = {0};

		if (list->items[i].state == SNAPSHOT_DAMAGED ||
		    model_commit(world, list->items[i].id)->hurt)
			continue;
		if (script_restore(world, storage, list->items[i].id, &err) < 0)
			model_wrong(world, "%s is listed as good and cannot be restored: %s",
				    snapshot_id_format(list->items[i].id, text), err.text);
	}
}

/* 4: the next machine. */
static void check_next_claim(struct world *world, struct storage *storage,
			     const struct snapshot_list *list)
{
	auto_(attempt_release) struct attempt attempt = {0};
	struct claim claim = {.policy = RESTORE_LATEST};
	struct snapshot_id newest = {0};
	char text[SNAPSHOT_ID_TEXT];
	struct err err = {0};

	if (storage_claim(storage, &claim, &attempt, NULL, &err) < 0) {
		model_wrong(world, "the next claim fails: %s", err.text);
		return;
	}
	for (size_t i = list->count; i > 0; i--)
		if (list->items[i - 1].state == SNAPSHOT_GOOD)
			newest = list->items[i - 1].id;
	if (attempt.start_is_damaged ? !snapshot_id_is_none(newest)
				     : snapshot_id_compare(newest, attempt.start) != 0)
		model_wrong(world, "the next claim starts from %s",
			    snapshot_id_format(attempt.start, text));
}

static void collect_garbage(struct world *world, struct storage *storage)
{
	struct forget_request request = {.policy = {.keep_last = 1000}};
	struct forget_result result;
	struct err err = {0};

	world->objects.now_ms += 2 * MEMORY_DAY_MS;
	if (storage_forget(storage, &request, &result, NULL, &err) < 0)
		model_wrong(world, "the garbage collection fails: %s", err.text);
}

void audit_world(struct world *world)
{
	auto_(storage_close) struct storage *storage = NULL;
	auto_(snapshot_list_release) struct snapshot_list list = {0};
	struct err err = {0};

	if (script_open(&storage, &err) < 0 ||
	    storage_list_snapshots(storage, &list, NULL, &err) < 0) {
		model_wrong(world, "the store cannot be read: %s", err.text);
		return;
	}
	check_told(world, &list);
	check_starts(world);
	check_forgotten(world);
	check_next_claim(world, storage, &list);
	if (world->wrong[0])
		return;
	collect_garbage(world, storage);
	snapshot_list_release(&list);
	if (storage_list_snapshots(storage, &list, NULL, &err) < 0)
		model_wrong(world, "the store cannot be read: %s", err.text);
	check_told(world, &list);
	check_restores(world, storage, &list);
}
