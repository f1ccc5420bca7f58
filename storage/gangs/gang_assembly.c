#include "gang_assembly.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/json.h"
#include "base/workers.h"
#include "storage/records/records.h"

#include <stdlib.h>
#include <string.h>

/* Parts that are read at once. */
#define READERS_MOST 32

char *gang_part_key(const struct storage *storage, struct snapshot_id id, uint32_t member)
{
	return text_format("jobs/%s/parts/%06u/%06u/%05u.json", storage->transfer.job, id.attempt,
			   id.sequence, member);
}

struct gang_reading {
	struct gang_round *round;
	struct manifest *parts; /* of all members, in their order */
};

static void gang_reading_release(struct gang_reading *reading)
{
	for (uint32_t i = 0; i < reading->round->storage->gang.members; i++)
		manifest_release(&reading->parts[i]);
	free(reading->parts);
}
AUTO(struct gang_reading, gang_reading_release);

static int read_part(void *arg, size_t member, struct err *err)
{
	struct gang_reading *reading = arg;
	struct gang_round *round = reading->round;
	auto_free char *key = gang_part_key(round->storage, round->id, (uint32_t)member);
	auto_json json_t *body = NULL;

	if (job_record_get(round->storage->transfer.store, key, RECORD_PART, &body, round->cancel,
			   err) < 0 ||
	    gang_part_decode(body, round->storage->transfer.job, round->id, (uint32_t)member,
			     &reading->parts[member], err) < 0)
		return err_wrap(err, "the part of member %zu", member);
	return 0;
}

static int read_all_parts(struct gang_reading *reading, struct err *err)
{
	if (parallel_each(reading->round->storage->gang.members, READERS_MOST, read_part, reading,
			  err) == 0)
		return 0;
	/* A part is never put a second time. */
	if (err->kind == ERR_CORRUPT || err->kind == ERR_VERSION)
		err->kind = ERR_UNFIT;
	return -1;
}

static void fill_gang_header(const struct gang_round *round, const struct manifest *leader,
			     struct manifest *gang)
{
	gang->id = round->id;
	gang->parent = leader->parent;
	gang->job = text_copy(round->storage->transfer.job);
	random_hex(gang->nonce);
	clock_format(clock_wall_ms(), gang->created, sizeof(gang->created));
	text_set(gang->host, sizeof(gang->host), round->storage->host);
	text_set(gang->reason, sizeof(gang->reason), leader->reason);
	gang->step = leader->step;
	gang->about = json_incref(leader->about);
}

/* ERR_UNFIT: what the parts say can never be a snapshot. */
static int join_parts(const struct gang_reading *reading, struct manifest *gang, struct err *err)
{
	const struct gang_round *round = reading->round;
	uint32_t members = round->storage->gang.members;

	if (gang_parts_agree(reading->parts, members, err) < 0)
		return -1;
	fill_gang_header(round, gang_parts_leader(reading->parts, members), gang);
	gang_manifest_join(reading->parts, members, gang);
	return 0;
}

/* The packs of the others too: each has looked up its own before it put its part, which may be some
 * time ago. */
static int check_all_packs(struct gang_round *round, const struct manifest *gang, struct err *err)
{
	auto_(store_listing_release) struct store_listing packs = {0};
	struct err own = {0};

	if (pack_listing_get_named(round->storage, gang, &packs, round->cancel, err) < 0)
		return -1;
	if (pack_listing_check(round->storage, gang, &packs, &own) == 0)
		return 0;
	return err_set(err, ERR_UNFIT, "a part is no use: %s", own.text);
}

int gang_assembly_check_attempt(const struct gang_round *round, struct err *err)
{
	return own_claim_check_newer(round->storage, round->id.attempt, NULL, round->cancel, err);
}

/* A newer attempt may have started from it, and removed it since. */
static int check_put_again(void *arg, struct err *err)
{
	struct err own = {0};

	if (gang_assembly_check_attempt(arg, &own) == 0)
		return 0;
	/* "Exists" would say that it is there. */
	return err_set(err, own.kind == ERR_EXISTS ? ERR_UNFIT : own.kind, "%s", own.text);
}

/* What has been committed under this number is of the same parts: each is put once, if-absent. */
static int put_gang_manifest(struct gang_round *round, const struct manifest *gang, struct err *err)
{
	auto_free char *key = job_record_key_snapshot(round->storage, gang->id);
	auto_json json_t *body = manifest_encode(gang, err);
	const struct put_again again = {check_put_again, round};

	if (!body)
		return -1;
	fault_point("before_manifest_put");
	if (job_record_put_asking(round->storage->transfer.store, key, RECORD_SNAPSHOT, body, NULL,
				  &again, round->cancel, err) < 0)
		return err->kind == ERR_EXISTS ? 0 : -1;
	fault_point("after_manifest_put");
	return 0;
}

int gang_assembly_commit(struct gang_round *round, struct err *err)
{
	auto_(gang_reading_release) struct gang_reading reading = {
		.round = round,
		.parts = memory_new(round->storage->gang.members * sizeof(*reading.parts)),
	};
	auto_(manifest_release) struct manifest gang = {0};

	if (read_all_parts(&reading, err) < 0 || join_parts(&reading, &gang, err) < 0 ||
	    check_all_packs(round, &gang, err) < 0 || gang_assembly_check_attempt(round, err) < 0)
		return -1;
	return put_gang_manifest(round, &gang, err);
}
