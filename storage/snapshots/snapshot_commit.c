#include "snapshot_commit.h"

#include "base/fault.h"
#include "base/json.h"
#include "base/text.h"
#include "storage/records/records.h"

#include <stdlib.h>

static int check_not_superseded(const struct snapshot_commit *commit, struct err *err)
{
	return own_claim_check_newer(commit->storage, commit->request->id.attempt, commit->cancel,
				     err);
}

/* The next try sends what was in them. */
static void drop_missing_packs(struct snapshot_commit *commit, const struct manifest *manifest,
			       const struct store_listing *packs)
{
	struct chunk_index *index = &commit->storage->transfer.index;

	for (size_t i = 0; i < manifest->pack_count; i++) {
		struct manifest_pack *named = &manifest->packs[i];
		struct manifest one = {.packs = named, .pack_count = 1};

		if (pack_listing_check(commit->storage, &one, packs, NULL) == 0)
			continue;
		for (size_t j = 0; j < index->pack_count; j++)
			if (text_equal(index->packs[j].key, named->key))
				chunk_index_pack_lost(index, (uint32_t)j);
	}
}

/* A pack may have been removed, or set aside, since the one who relies on it has seen it last: all
 * that the manifest names is looked up after the last byte was sent. */
static int check_named_packs(struct snapshot_commit *commit, const struct manifest *manifest,
			     struct err *err)
{
	auto_(store_listing_release) struct store_listing packs = {0};
	struct err own = {0};

	if (pack_listing_get_named(commit->storage, manifest, &packs, commit->cancel, err) < 0)
		return -1;
	if (pack_listing_check(commit->storage, manifest, &packs, &own) == 0)
		return 0;
	drop_missing_packs(commit, manifest, &packs);
	commit->packs_missing = true;
	return err_set(err, ERR_RETRY, "a part that is in the store already is no use: %s",
		       own.text);
}

static bool is_started_from(const struct lineage *lineage, struct snapshot_id id)
{
	for (size_t i = 0; i < lineage->attempt_count; i++)
		if (snapshot_id_compare(lineage->attempts[i].start, id) == 0)
			return true;
	return false;
}

/* Whether a newer claim leaves the snapshot behind. One that is not confirmed yet may be at any
 * moment: it counts here. */
static int find_left_behind(struct snapshot_commit *commit, bool *left, struct err *err)
{
	auto_(job_listing_release) struct job_listing listing = {0};
	struct lineage *lineage = &listing.lineage;

	if (job_records_list_lineage(commit->storage, &listing, commit->cancel, err) < 0 ||
	    listed_claims_read(commit->storage, &listing, commit->cancel, err) < 0)
		return -1;
	for (size_t i = 0; i < lineage->attempt_count; i++)
		if (lineage->attempts[i].number > commit->request->id.attempt)
			lineage->attempts[i].unconfirmed = false;
	*left = lineage_state(lineage, commit->request->id) == SNAPSHOT_FENCED;
	/* The claims alone say so: in a full store it may be gone already. */
	if (*left)
		return 0;
	for (size_t i = 0; i < lineage->snapshot_count; i++)
		if (snapshot_id_compare(lineage->snapshots[i], commit->request->id) == 0)
			return 0;
	/* Newer attempts may have removed it, behind what they have saved since. */
	if (is_started_from(lineage, commit->request->id))
		return 0;
	return err_set(err, ERR_RETRY, "it has been removed");
}

/* A newer attempt may have been claimed between the look before the commit and the commit. Unless
 * it starts from here, this snapshot is kept, but nobody goes on from it. If that cannot be looked
 * up, nobody is told that it is durable. */
static int check_in_force(struct snapshot_commit *commit, struct err *err)
{
	uint32_t own = commit->request->id.attempt, newest = own;
	bool left = false;

	if (storage_superseded(commit->storage, own, &newest, commit->cancel, err) < 0 ||
	    (newest > own && find_left_behind(commit, &left, err) < 0))
		return err_wrap(err, "it is in the store, but whether another attempt had taken "
				     "over before is not known");
	if (left)
		return err_set(err, ERR_EXISTS,
			       "attempt %u had taken over before it was committed: it is late, and "
			       "nobody continues from it",
			       newest);
	return 0;
}

/* Before a manifest that may have been put, and is not there, is put once more. A newer attempt may
 * have started from it and removed it since: it would be there again, without its packs. */
static int check_put_again(void *arg, struct err *err)
{
	struct snapshot_commit *commit = arg;

	if (check_not_superseded(commit, err) == 0)
		return 0;
	commit->overtaken = err->kind == ERR_EXISTS;
	return -1;
}

/* The newer attempt says whether it was there: then it has started from it. */
static int settle_overtaken(struct snapshot_commit *commit, struct err *err)
{
	auto_(job_listing_release) struct job_listing listing = {0};
	struct err own = {0};

	if (job_records_list_lineage(commit->storage, &listing, commit->cancel, &own) < 0 ||
	    listed_claims_read(commit->storage, &listing, commit->cancel, &own) < 0)
		return err_set(err, own.kind, "%s: whether it was put before is not known: %.300s",
			       err->text, own.text);
	return is_started_from(&listing.lineage, commit->request->id) ? 0 : -1;
}

static int put_manifest(struct snapshot_commit *commit, const struct manifest *manifest,
			uint64_t *bytes, struct err *err)
{
	auto_free char *key = job_record_key_snapshot(commit->storage, manifest->id);
	auto_json json_t *body = manifest_encode(manifest, err);
	const struct put_again again = {check_put_again, commit};

	if (!body)
		return -1;
	fault_point("before_manifest_put");
	if (job_record_put_asking(commit->storage->transfer.store, key, RECORD_SNAPSHOT, body,
				  bytes, &again, commit->cancel, err) < 0 &&
	    (!commit->overtaken || settle_overtaken(commit, err) < 0))
		return -1;
	fault_point("after_manifest_put");
	return 0;
}

int snapshot_commit(struct snapshot_commit *commit, const struct manifest *manifest,
		    uint64_t *bytes, struct err *err)
{
	int result;

	if (check_named_packs(commit, manifest, err) < 0) {
		/* A store that was emptied lacks our claim too, and that says more. */
		if (commit->packs_missing)
			(void)check_not_superseded(commit, err);
		return -1;
	}
	if (check_not_superseded(commit, err) < 0)
		return -1;
	if (storage_is_member(commit->storage))
		result = gang_commit(commit->storage, commit->request, manifest, &commit->outcome,
				     commit->cancel, err);
	else
		result = put_manifest(commit, manifest, bytes, err);
	return result < 0 ? -1 : check_in_force(commit, err);
}
