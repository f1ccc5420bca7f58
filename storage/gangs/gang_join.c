/*
 * How the members of a gang find each other at their start. All of it lies below gang/<A>/, where A
 * is the newest attempt that they saw when they came: what earlier starts have left is below other
 * numbers. One listing shows it all.
 */
#include "storage/storage.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/json.h"
#include "gang_records.h"
#include "gangs.h"
#include "storage/records/records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *gang_prefix(const struct storage *storage, uint32_t after)
{
	return text_format("jobs/%s/gang/%06u/", storage->transfer.job, after);
}

static char *join_key(const struct storage *storage, uint32_t after, const struct gang_join *join)
{
	auto_free char *prefix = gang_prefix(storage, after);
	auto_free char *name = gang_join_format(join);

	return text_format("%s%s", prefix, name);
}

/* --- what lies there --- */

void gang_records_release(struct gang_records *records)
{
	free(records->joins);
	*records = (struct gang_records){0};
}

int storage_gang_look(struct storage *storage, uint32_t after, struct gang_records *records,
		      struct cancel *cancel, struct err *err)
{
	auto_free char *above = gang_prefix(storage, after);
	auto_free char *prefix = text_format("%sjoin-", above);
	auto_(store_listing_release) struct store_listing found = {0};

	gang_records_release(records);
	if (job_records_list_keys(storage, prefix, &found, cancel, err) < 0)
		return -1;
	records->joins = memory_new((found.count + 1) * sizeof(*records->joins));
	for (size_t i = 0; i < found.count; i++) {
		struct gang_join *join = &records->joins[records->join_count];

		if (!gang_join_parse(found.items[i].key + strlen(above), join))
			continue;
		join->put_ms = found.items[i].modified_ms;
		join->birth_ms = join->put_ms > join->age_ms ? join->put_ms - join->age_ms : 0;
		records->join_count++;
	}
	records->join_count = gang_joins_unite(records->joins, records->join_count);
	return 0;
}

/* --- joining --- */

static char *launch_key(const struct storage *storage, const struct gang_launch *launch)
{
	return text_format("jobs/%s/gang/launch-%s.json", storage->transfer.job, launch->id);
}

/* When it was put. */
static int read_launch_time(struct storage *storage, const char *key, struct gang_launch *launch,
			    struct cancel *cancel, struct err *err)
{
	auto_(store_listing_release) struct store_listing found = {0};

	if (job_records_list_keys(storage, key, &found, cancel, err) < 0)
		return -1;
	if (found.count > 0)
		launch->put_ms = found.items[0].modified_ms;
	return 0;
}

static void name_launch(const char *name, struct gang_launch *launch)
{
	snprintf(launch->id, sizeof(launch->id), "%016llx",
		 (unsigned long long)checksum_bytes(name, strlen(name)));
}

int storage_gang_find_launch(struct storage *storage, const char *name, struct gang_launch *launch,
			     struct cancel *cancel, struct err *err)
{
	auto_free char *key = NULL;
	auto_json json_t *there = NULL;

	*launch = (struct gang_launch){0};
	name_launch(name, launch);
	key = launch_key(storage, launch);
	if (job_record_get(storage->transfer.store, key, RECORD_JOIN, &there, cancel, err) < 0)
		return -1;
	launch->after = (uint32_t)json_number_or(there, "after", 0);
	return read_launch_time(storage, key, launch, cancel, err);
}

/* What the first member that came has put there counts for all. */
int storage_gang_know_launch(struct storage *storage, const char *name, uint32_t newest,
			     struct gang_launch *launch, struct cancel *cancel, struct err *err)
{
	auto_free char *key = NULL;
	auto_json json_t *body = NULL;
	char created[32], nonce[33];
	struct err own = {0};

	*launch = (struct gang_launch){.after = newest};
	if (!*name)
		return 0;
	name_launch(name, launch);
	key = launch_key(storage, launch);
	random_hex(nonce);
	body = json_pack("{s:s, s:I, s:s, s:s, s:s}", "launch", name, "after", (json_int_t)newest,
			 "nonce", nonce, "created",
			 clock_format(clock_wall_ms(), created, sizeof(created)), "host",
			 storage->host);
	if (!body)
		return err_set(err, ERR_INVALID, "the name of the launch is not UTF-8");
	if (job_record_put(storage->transfer.store, key, RECORD_JOIN, body, NULL, cancel, &own) <
		    0 &&
	    own.kind != ERR_EXISTS)
		return err_pass(err, &own);
	return storage_gang_find_launch(storage, name, launch, cancel, err);
}

int storage_gang_join(struct storage *storage, uint32_t after, struct gang_join *join,
		      const char *reason, struct cancel *cancel, struct err *err)
{
	auto_free char *key = NULL;
	char created[32];
	auto_json json_t *body =
		json_pack("{s:I, s:I, s:s, s:s, s:s, s:s, s:s}", "member", (json_int_t)join->member,
			  "members", (json_int_t)join->members, "nonce", join->nonce, "launch",
			  join->launch.id, "created",
			  clock_format(clock_wall_ms(), created, sizeof(created)), "host",
			  storage->host, "reason", reason);

	if (!body)
		return err_set(err, ERR_INVALID, "the reason is not UTF-8");
	gang_join_set_host(join, storage->host);
	key = join_key(storage, after, join);
	fault_point("before_join_put");
	return job_record_put(storage->transfer.store, key, RECORD_JOIN, body, NULL, cancel, err);
}

void storage_gang_leave(struct storage *storage, uint32_t after, const struct gang_join *join,
			struct cancel *cancel)
{
	auto_free char *key = join_key(storage, after, join);

	storage->transfer.store->ops->remove(storage->transfer.store, key, cancel, NULL);
}

void storage_gang_reason(struct storage *storage, uint32_t after, const struct gang_join *join,
			 char reason[160], struct cancel *cancel)
{
	auto_free char *key = join_key(storage, after, join);
	auto_json json_t *body = NULL;

	reason[0] = '\0';
	if (job_record_get(storage->transfer.store, key, RECORD_JOIN, &body, cancel, NULL) == 0)
		text_set(reason, 160, json_text_or(body, "reason", ""));
}

int storage_gang_ready(struct storage *storage, uint32_t attempt, struct cancel *cancel,
		       struct err *err)
{
	auto_free char *key = text_format("jobs/%s/gang/%06u/ready/%05u.json",
					  storage->transfer.job, attempt, storage->gang.member);

	return storage->transfer.store->ops->put(storage->transfer.store, key, "\n", 1,
						 STORE_UNIQUE, cancel, err);
}

int storage_gang_unready(struct storage *storage, uint32_t attempt, uint32_t *there,
			 uint32_t *missing, struct cancel *cancel, struct err *err)
{
	uint32_t members = storage->gang.members;
	auto_free char *prefix =
		text_format("jobs/%s/gang/%06u/ready/", storage->transfer.job, attempt);
	auto_free bool *ready = memory_new((members + 1) * sizeof(*ready));

	if (gang_list_members(storage, prefix, members, ready, cancel, err) < 0)
		return -1;
	*there = 0;
	*missing = members;
	for (uint32_t i = members; i > 0; i--) {
		*there += ready[i - 1];
		if (!ready[i - 1])
			*missing = i - 1;
	}
	return 0;
}

/* --- the claim --- */

json_t *storage_gang_describe(const struct gang_join *joins, uint32_t members, bool goes_on)
{
	const struct gang_launch *launch = &joins[0].launch;
	json_t *nonces = json_array(), *births = json_array(), *hosts = json_array();
	json_t *gang;

	for (uint32_t i = 0; i < members; i++) {
		json_array_append_new(nonces, json_string(joins[i].nonce));
		json_array_append_new(hosts, json_string(joins[i].host));
		json_array_append_new(births, json_pack("[I, I, I]", (json_int_t)joins[i].birth_ms,
							(json_int_t)joins[i].first_after,
							(json_int_t)joins[i].turn));
	}
	gang = json_pack("{s:I, s:o, s:o, s:o, s:[s, I, I]}", "members", (json_int_t)members,
			 "joins", nonces, "births", births, "hosts", hosts, "launch", launch->id,
			 (json_int_t)launch->after, (json_int_t)launch->put_ms);
	if (goes_on)
		json_object_set_new(gang, "goes_on", json_true());
	return gang;
}

static int read_claim_body(struct storage *storage, uint32_t number, json_t **body,
			   struct cancel *cancel, struct err *err)
{
	auto_free char *key = job_record_key_attempt(storage, number, "");

	return job_record_get(storage->transfer.store, key, RECORD_ATTEMPT, body, cancel, err);
}

void gang_claim_release(struct gang_claim *claim)
{
	json_decref(claim->nonces);
	json_decref(claim->hosts);
	*claim = (struct gang_claim){0};
}

static uint32_t number_at(json_t *array, size_t at)
{
	json_int_t value = json_integer_value(json_array_get(array, at));

	return value > 0 && value <= UINT32_MAX ? (uint32_t)value : 0;
}

/* What the claim says of the gang; what makes no sense is of no gang. */
static void decode_claim(json_t *body, uint32_t member, struct gang_claim *claim)
{
	json_t *gang = json_object_get(json_object_get(body, "about"), "gang");
	json_t *nonces = json_object_get(gang, "joins"), *launch = json_object_get(gang, "launch");
	json_t *birth = json_array_get(json_object_get(gang, "births"), member);
	const char *nonce = json_string_value(json_array_get(nonces, member));
	const char *host =
		json_string_value(json_array_get(json_object_get(gang, "hosts"), member));
	size_t members = json_array_size(nonces);

	text_set(claim->host, sizeof(claim->host), json_text_or(body, "host", ""));
	claim->members = 1;
	if (members < 2 || members > STORAGE_GANG_MOST)
		return;
	claim->members = (uint32_t)members;
	claim->nonces = json_incref(nonces);
	claim->hosts = json_incref(json_object_get(gang, "hosts"));
	claim->own.member = member;
	claim->own.members = claim->members;
	text_set(claim->own.nonce, sizeof(claim->own.nonce), nonce ? nonce : "");
	text_set(claim->own.host, sizeof(claim->own.host), host ? host : "");
	claim->own.birth_ms = json_integer_value(json_array_get(birth, 0));
	claim->own.first_after = number_at(birth, 1);
	claim->own.turn = number_at(birth, 2);
	if (json_is_string(json_array_get(launch, 0)))
		text_set(claim->own.launch.id, sizeof(claim->own.launch.id),
			 json_string_value(json_array_get(launch, 0)));
	claim->own.launch.after = number_at(launch, 1);
	claim->own.launch.put_ms = json_integer_value(json_array_get(launch, 2));
	claim->goes_on = json_true_or(gang, "goes_on", false);
}

int storage_gang_newest_claim(struct storage *storage, uint32_t member, struct gang_claim *claim,
			      struct cancel *cancel, struct err *err)
{
	auto_(job_listing_release) struct job_listing listing = {0};
	auto_json json_t *body = NULL;
	const struct lineage *lineage = &listing.lineage;
	size_t newest;

	if (job_records_list_singles(storage, &listing, cancel, err) < 0)
		return -1;
	if (lineage->attempt_count == 0) {
		gang_claim_release(claim);
		return 0;
	}
	newest = lineage->attempt_count - 1;
	if (lineage->attempts[newest].number != claim->attempt) {
		gang_claim_release(claim);
		claim->members = 1;
		if (lineage->attempts[newest].claimed) {
			if (read_claim_body(storage, lineage->attempts[newest].number, &body,
					    cancel, err) < 0)
				return -1;
			decode_claim(body, member, claim);
		}
		claim->attempt = lineage->attempts[newest].number;
	}
	claim->confirmed =
		lineage->attempts[newest].claimed && !lineage->attempts[newest].unconfirmed;
	return 0;
}

/* All that there are to go on from are damaged: of the newest one it says why. */
static void read_damage(json_t *body, struct attempt *attempt)
{
	const char *text = json_text_or(body, "start_damaged", "");

	if (!*text)
		return;
	attempt->start_is_damaged = true;
	attempt->damaged = memory_new(sizeof(*attempt->damaged));
	attempt->damaged_count = 1;
	attempt->damaged[0].id = attempt->start;
	text_set(attempt->damaged[0].text, sizeof(attempt->damaged[0].text), text);
}

int storage_gang_adopt(struct storage *storage, uint32_t number, struct attempt *attempt,
		       struct cancel *cancel, struct err *err)
{
	auto_(job_listing_release) struct job_listing listing = {0};
	struct lineage_attempt claim = {.number = number};
	auto_json json_t *body = NULL;

	if (read_claim_body(storage, number, &body, cancel, err) < 0 ||
	    job_records_list_snapshots(storage, &listing, cancel, err) < 0 ||
	    job_records_list_singles(storage, &listing, cancel, err) < 0)
		return -1;
	if (!job_record_decode_claim(body, &claim))
		return err_set(err, ERR_CORRUPT, "the claim of attempt %u makes no sense", number);
	attempt_release(attempt);
	attempt->number = number;
	attempt->start = claim.start;
	attempt->suspect = claim.suspect;
	read_damage(body, attempt);
	storage->own_claim = (struct own_claim){.number = number};
	text_set(storage->own_claim.nonce, sizeof(storage->own_claim.nonce),
		 json_text_or(body, "nonce", ""));
	own_claim_note_time(storage, &listing, number);
	storage->swept_at_claim = listing.swept;
	if (listing.lineage.snapshot_count > 0)
		storage->newest_at_claim =
			listing.lineage.snapshots[listing.lineage.snapshot_count - 1];
	return 0;
}
