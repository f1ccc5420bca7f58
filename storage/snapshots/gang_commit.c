#include "gang_commit.h"

#include "base/backoff.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/json.h"
#include "gang_parts.h"

#include <stdlib.h>
#include <string.h>

#define LOOK_FIRST_MS 50
#define LOOK_MOST_MS 2000
/* The member that has put the last part commits. If it has not after so many looks, others do. */
#define LOOKS_OF_OTHERS 4
/* Commits that come in between while one is put under the next number. */
#define NUMBERS_MOST 100

void storage_set_gang(struct storage *storage, uint32_t members, uint32_t member)
{
	storage->gang.members = members;
	storage->gang.member = member;
}

void storage_gang_choose_parts(struct storage *storage, enum gang_parts_choice choice)
{
	storage->gang.parts = choice;
}

bool storage_is_member(const struct storage *storage)
{
	return storage->gang.members > 1;
}

int gang_commit_cut(struct storage *storage, struct manifest *manifest, struct err *err)
{
	return storage->gang.members == 0
		       ? 0
		       : gang_manifest_cut(manifest, storage->gang.members, storage->gang.member,
					   err);
}

/* --- what is committed --- */

/* One that was committed in this attempt. Those that were read are remembered: steps rise, so that
 * the newest is the one with the highest number. */
static int read_newer_commits(struct storage *storage, uint32_t attempt, struct cancel *cancel,
			      struct err *err)
{
	auto_free char *prefix =
		text_format("jobs/%s/snapshots/%06u-", storage->transfer.job, attempt);
	size_t length = strlen(prefix) - strlen("000001-");
	auto_(store_listing_release) struct store_listing found = {0};
	struct snapshot_id newest = storage->gang.committed;

	if (storage->transfer.store->ops->list(storage->transfer.store, prefix, STORE_ALL, &found,
					       cancel, err) < 0)
		return -1;
	for (size_t i = 0; i < found.count; i++) {
		struct snapshot_id id;

		if (job_record_parse_id(found.items[i].key + length, &id) &&
		    snapshot_id_compare(id, newest) > 0)
			newest = id;
	}
	if (snapshot_id_compare(newest, storage->gang.committed) > 0) {
		auto_(manifest_release) struct manifest manifest = {0};

		if (job_record_get_manifest_head(storage, newest, &manifest, cancel, err) < 0)
			return -1;
		storage->gang.committed = newest;
		storage->gang.committed_step = manifest.step;
	}
	return 0;
}

static bool is_committed(const struct storage *storage, const struct save_request *request,
			 struct snapshot_id *id)
{
	*id = storage->gang.committed;
	return id->attempt == request->id.attempt && storage->gang.committed_step == request->step;
}

static int refuse_passed(const struct storage *storage, const struct save_request *request,
			 struct err *err)
{
	char text[SNAPSHOT_ID_TEXT];

	if (storage->gang.committed.attempt != request->id.attempt ||
	    storage->gang.committed_step <= request->step)
		return 0;
	return err_set(err, ERR_UNFIT,
		       "the gang has committed step %lld already (snapshot %s): step %lld, which "
		       "comes before it, is not saved",
		       (long long)storage->gang.committed_step,
		       snapshot_id_format(storage->gang.committed, text), (long long)request->step);
}

int gang_commit_check(struct storage *storage, const struct save_request *request,
		      struct snapshot_id *id, bool *durable, struct err *err)
{
	*durable = false;
	if (request->step < 0)
		return err_set(err, ERR_UNFIT,
			       "this checkpoint has no step, by which the members of a gang know "
			       "that they save the same one: save under numbered names "
			       "(step-500), or report the step (reprieve.h)");
	*durable = is_committed(storage, request, id);
	return *durable ? 0 : refuse_passed(storage, request, err);
}

/* --- the parts --- */

static char *part_prefix(const struct storage *storage, uint32_t attempt)
{
	return text_format("jobs/%s/parts/%06u/", storage->transfer.job, attempt);
}

static char *part_key(const struct storage *storage, uint32_t attempt, const struct gang_part *part)
{
	auto_free char *prefix = part_prefix(storage, attempt);
	auto_free char *name = gang_part_format(part);

	return text_format("%s%s", prefix, name);
}

static int list_parts(struct storage *storage, uint32_t attempt, struct gang_part **parts,
		      size_t *count, struct cancel *cancel, struct err *err)
{
	auto_free char *prefix = part_prefix(storage, attempt);
	auto_(store_listing_release) struct store_listing found = {0};

	*count = 0;
	if (storage->transfer.store->ops->list(storage->transfer.store, prefix, STORE_ALL, &found,
					       cancel, err) < 0)
		return -1;
	free(*parts);
	*parts = memory_new((found.count + 1) * sizeof(**parts));
	for (size_t i = 0; i < found.count; i++)
		if (gang_part_parse(found.items[i].key + strlen(prefix), &(*parts)[*count]))
			(*count)++;
	return 0;
}

/* Those that this process has put before: a snapshot came of them, or never will. */
static void remove_old_parts(struct storage *storage, const struct gang_part *parts, size_t count,
			     const struct save_request *request, struct cancel *cancel)
{
	for (size_t i = 0; i < count; i++) {
		auto_free char *key = part_key(storage, request->id.attempt, &parts[i]);

		if (parts[i].member == storage->gang.member && parts[i].step < request->step)
			storage->transfer.store->ops->remove(storage->transfer.store, key, cancel,
							     NULL);
	}
}

static int put_part(struct storage *storage, const struct save_request *request,
		    const struct manifest *part, struct cancel *cancel, struct err *err)
{
	struct gang_part name = {request->step, storage->gang.member, request->id.sequence};
	auto_free char *key = part_key(storage, request->id.attempt, &name);
	auto_json json_t *body = manifest_encode(part, err);

	if (!body)
		return -1;
	fault_point("before_part_put");
	if (job_record_put(storage->transfer.store, key, RECORD_PART, body, NULL, cancel, err) < 0)
		return err_wrap(err, "the part of member %u", storage->gang.member);
	fault_point("after_part_put");
	return 0;
}

/* --- the manifest of all --- */

struct gang_manifests {
	struct manifest *parts;
	uint32_t count;
};

static void gang_manifests_release(struct gang_manifests *all)
{
	for (uint32_t i = 0; i < all->count; i++)
		manifest_release(&all->parts[i]);
	free(all->parts);
}
AUTO(struct gang_manifests, gang_manifests_release);

static int read_part(struct storage *storage, uint32_t attempt, const struct gang_part *name,
		     struct manifest *part, struct cancel *cancel, struct err *err)
{
	auto_free char *key = part_key(storage, attempt, name);
	struct snapshot_id id = {attempt, name->sequence};
	auto_json json_t *body = NULL;

	if (job_record_get(storage->transfer.store, key, RECORD_PART, &body, cancel, err) < 0 ||
	    manifest_decode(body, storage->transfer.job, id, part, err) < 0)
		return err_wrap(err, "the part of member %u", name->member);
	if (part->step == name->step)
		return 0;
	return err_set(err, ERR_CORRUPT, "the part of member %u is of another step", name->member);
}

static int read_parts(struct storage *storage, const struct save_request *request,
		      const struct gang_part *names, size_t count, struct gang_manifests *all,
		      struct cancel *cancel, struct err *err)
{
	all->parts = memory_new(storage->gang.members * sizeof(*all->parts));
	for (uint32_t i = 0; i < storage->gang.members; i++) {
		const struct gang_part *name = gang_parts_find(names, count, i, request->step);

		if (read_part(storage, request->id.attempt, name, &all->parts[i], cancel, err) < 0)
			return -1;
		all->count++;
	}
	return 0;
}

static void fill_gang_header(struct storage *storage, const struct save_request *request,
			     struct manifest *gang)
{
	gang->parent = request->parent;
	gang->job = text_copy(storage->transfer.job);
	random_hex(gang->nonce);
	clock_format(clock_wall_ms(), gang->created, sizeof(gang->created));
	text_set(gang->host, sizeof(gang->host), storage->host);
	text_set(gang->reason, sizeof(gang->reason), request->reason);
	gang->step = request->step;
	gang->about = json_incref(request->about);
}

/* The packs of the others too: each has looked up its own before it put its part, which may be some
 * time ago. */
static int check_all_packs(struct storage *storage, const struct manifest *gang,
			   struct cancel *cancel, struct err *err)
{
	auto_(store_listing_release) struct store_listing packs = {0}, damaged = {0};
	struct err own = {0};

	if (job_records_list_named_packs(storage, gang, &packs, &damaged, cancel, err) < 0)
		return -1;
	if (job_records_check_packs(storage, gang, &packs, &damaged, &own) == 0)
		return 0;
	return err_set(err, ERR_RETRY, "a part of another member is no use: %s", own.text);
}

/* The next number that is free: several members may put the same at once. Steps rise with the
 * numbers, and no step is committed twice. */
static int put_gang_manifest(struct storage *storage, const struct save_request *request,
			     struct manifest *gang, struct snapshot_id *id, struct cancel *cancel,
			     struct err *err)
{
	struct err own = {.kind = ERR_EXISTS};

	for (int i = 0; i < NUMBERS_MOST && own.kind == ERR_EXISTS; i++) {
		auto_free char *key = NULL;
		auto_json json_t *body = NULL;

		if (read_newer_commits(storage, request->id.attempt, cancel, err) < 0 ||
		    refuse_passed(storage, request, err) < 0)
			return -1;
		if (is_committed(storage, request, id))
			return 0;
		gang->id = (struct snapshot_id){
			request->id.attempt,
			storage->gang.committed.attempt == request->id.attempt
				? storage->gang.committed.sequence + 1
				: 1,
		};
		key = job_record_key_snapshot(storage, gang->id);
		body = manifest_encode(gang, err);
		if (!body)
			return -1;
		fault_point("before_manifest_put");
		own = (struct err){0};
		if (job_record_put(storage->transfer.store, key, RECORD_SNAPSHOT, body, NULL,
				   cancel, &own) < 0)
			continue;
		fault_point("after_manifest_put");
		storage->gang.committed = *id = gang->id;
		storage->gang.committed_step = gang->step;
		return 0;
	}
	return err_set(err, own.kind, "%s", own.text);
}

static int commit_parts(struct storage *storage, const struct save_request *request,
			const struct gang_part *names, size_t count, struct snapshot_id *id,
			struct cancel *cancel, struct err *err)
{
	auto_(gang_manifests_release) struct gang_manifests all = {0};
	auto_(manifest_release) struct manifest gang = {0};
	uint32_t newest = 0;

	if (read_newer_commits(storage, request->id.attempt, cancel, err) < 0)
		return -1;
	if (is_committed(storage, request, id))
		return 0;
	if (read_parts(storage, request, names, count, &all, cancel, err) < 0)
		return -1;
	fill_gang_header(storage, request, &gang);
	if (gang_manifest_join(all.parts, all.count, &gang, err) < 0 ||
	    check_all_packs(storage, &gang, cancel, err) < 0 ||
	    storage_superseded(storage, request->id.attempt, &newest, cancel, err) < 0)
		return -1;
	if (newest > request->id.attempt)
		return err_set(err, ERR_EXISTS, "attempt %u has taken over", newest);
	return put_gang_manifest(storage, request, &gang, id, cancel, err);
}

/* --- waiting for the others --- */

static int say_left_out(const struct gang_parts_verdict *verdict,
			const struct save_request *request, struct err *err)
{
	return err_set(err, ERR_RETRY,
		       "step %lld is no checkpoint of all members: member %u is at step %lld and "
		       "has left it out",
		       (long long)request->step, verdict->absent, (long long)verdict->later);
}

static int64_t look_pause_ms(unsigned looks)
{
	struct backoff pause = {
		.tries = looks,
		.first_ms = LOOK_FIRST_MS,
		.most_ms = LOOK_MOST_MS,
		.random = backoff_random(),
	};

	return LOOK_FIRST_MS + backoff_ms(&pause);
}

/* 1: committed; 0: not yet. `first`: this member has just put its part. */
static int look_at_parts(struct storage *storage, const struct save_request *request,
			 struct gang_part **parts, size_t *count, unsigned *complete_looks,
			 struct snapshot_id *id, bool *left_out, struct cancel *cancel,
			 struct err *err)
{
	struct gang_parts_verdict verdict;

	if (list_parts(storage, request->id.attempt, parts, count, cancel, err) < 0)
		return -1;
	verdict = gang_parts_judge(*parts, *count, storage->gang.members, request->step);
	if (verdict.state == GANG_PARTS_WAITING)
		return 0;
	/* After the parts: what they show may be what is left after the commit. */
	if (read_newer_commits(storage, request->id.attempt, cancel, err) < 0)
		return -1;
	if (is_committed(storage, request, id))
		return 1;
	if (verdict.state == GANG_PARTS_LEFT_OUT) {
		*left_out = true;
		return say_left_out(&verdict, request, err);
	}
	if (--*complete_looks > 0)
		return 0;
	*complete_looks = 1;
	return commit_parts(storage, request, *parts, *count, id, cancel, err) < 0 ? -1 : 1;
}

int gang_commit(struct storage *storage, const struct save_request *request,
		const struct manifest *part, struct snapshot_id *id, bool *left_out,
		struct cancel *cancel, struct err *err)
{
	auto_free struct gang_part *parts = NULL;
	size_t count = 0;
	unsigned looks = 0, complete_looks = 1;
	int state;

	*left_out = false;
	if (put_part(storage, request, part, cancel, err) < 0)
		return -1;
	state = look_at_parts(storage, request, &parts, &count, &complete_looks, id, left_out,
			      cancel, err);
	/* Not before this one is there: it shows that those are over. */
	remove_old_parts(storage, parts, count, request, cancel);
	complete_looks = LOOKS_OF_OTHERS;
	while (state == 0) {
		if (cancel_sleep(cancel, look_pause_ms(++looks), err) < 0)
			return err_wrap(err, "waiting for the parts of the other members");
		state = look_at_parts(storage, request, &parts, &count, &complete_looks, id,
				      left_out, cancel, err);
	}
	return state < 0 ? -1 : 0;
}
