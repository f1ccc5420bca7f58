/*
 * How the members of a gang find each other at their start. All of it lies below gang/<A>/, where A
 * is the newest attempt that they saw when they came: what earlier starts have left is below other
 * numbers. One listing shows it all.
 */
#include "storage/storage.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "job_records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *gang_prefix(const struct storage *storage, uint32_t after)
{
	return text_format("jobs/%s/gang/%06u/", storage->transfer.job, after);
}

static char *join_key(const struct storage *storage, uint32_t after, const struct gang_join *join)
{
	return text_format("jobs/%s/gang/%06u/join-%05u-%05u-%s.json", storage->transfer.job, after,
			   join->member, join->members, join->nonce);
}

/* --- what lies there --- */

void gang_records_release(struct gang_records *records)
{
	free(records->joins);
	free(records->ready);
	*records = (struct gang_records){0};
}

static bool parse_join(const char *name, struct gang_join *join)
{
	int end = 0;

	*join = (struct gang_join){0};
	return sscanf(name, "join-%5u-%5u-%32[0-9a-f].json%n", &join->member, &join->members,
		      join->nonce, &end) == 3 &&
	       end > 0 && name[end] == '\0' && join->member < join->members &&
	       join->members <= STORAGE_GANG_MOST;
}

static bool parse_ready(const char *name, uint32_t *member)
{
	int end = 0;

	return sscanf(name, "ready-%5u%n", member, &end) == 1 && name[end] == '\0';
}

int storage_gang_look(struct storage *storage, uint32_t after, struct gang_records *records,
		      struct cancel *cancel, struct err *err)
{
	auto_free char *prefix = gang_prefix(storage, after);
	auto_(store_listing_release) struct store_listing found = {0};

	gang_records_release(records);
	if (storage->transfer.store->ops->list(storage->transfer.store, prefix, STORE_ALL, &found,
					       cancel, err) < 0)
		return -1;
	records->joins = memory_new((found.count + 1) * sizeof(*records->joins));
	records->ready = memory_new((found.count + 1) * sizeof(*records->ready));
	for (size_t i = 0; i < found.count; i++) {
		const char *name = found.items[i].key + strlen(prefix);
		struct gang_join *join = &records->joins[records->join_count];

		if (text_equal(name, "go")) {
			records->go = true;
		} else if (parse_ready(name, &records->ready[records->ready_count])) {
			records->ready_count++;
		} else if (parse_join(name, join)) {
			join->put_ms = found.items[i].modified_ms;
			records->join_count++;
		}
	}
	return 0;
}

/* --- joining --- */

int storage_gang_join(struct storage *storage, uint32_t after, const struct gang_join *join,
		      struct cancel *cancel, struct err *err)
{
	auto_free char *key = join_key(storage, after, join);
	char created[32];
	auto_json json_t *body =
		json_pack("{s:I, s:I, s:s, s:s, s:s}", "member", (json_int_t)join->member,
			  "members", (json_int_t)join->members, "nonce", join->nonce, "created",
			  clock_format(clock_wall_ms(), created, sizeof(created)), "host",
			  storage->host);

	return job_record_put(storage->transfer.store, key, RECORD_JOIN, body, NULL, cancel, err);
}

void storage_gang_leave(struct storage *storage, uint32_t after, const struct gang_join *join,
			struct cancel *cancel)
{
	auto_free char *key = join_key(storage, after, join);

	storage->transfer.store->ops->remove(storage->transfer.store, key, cancel, NULL);
}

void storage_gang_host(struct storage *storage, uint32_t after, const struct gang_join *join,
		       char host[65], struct cancel *cancel)
{
	auto_free char *key = join_key(storage, after, join);
	auto_json json_t *body = NULL;

	host[0] = '\0';
	if (job_record_get(storage->transfer.store, key, RECORD_JOIN, &body, cancel, NULL) == 0)
		text_set(host, 65, json_text_or(body, "host", ""));
}

static int put_mark(struct storage *storage, uint32_t attempt, const char *name,
		    struct cancel *cancel, struct err *err)
{
	auto_free char *prefix = gang_prefix(storage, attempt);
	auto_free char *key = text_format("%s%s", prefix, name);

	return storage->transfer.store->ops->put(storage->transfer.store, key, "\n", 1,
						 STORE_UNIQUE, cancel, err);
}

int storage_gang_ready(struct storage *storage, uint32_t attempt, struct cancel *cancel,
		       struct err *err)
{
	char name[32];

	snprintf(name, sizeof(name), "ready-%05u", storage->gang.member);
	return put_mark(storage, attempt, name, cancel, err);
}

int storage_gang_go(struct storage *storage, uint32_t attempt, struct cancel *cancel,
		    struct err *err)
{
	return put_mark(storage, attempt, "go", cancel, err);
}

/* --- the claim --- */

json_t *storage_gang_describe(const struct gang_join *joins, uint32_t members)
{
	json_t *nonces = json_array();

	for (uint32_t i = 0; i < members; i++)
		json_array_append_new(nonces, json_string(joins[i].nonce));
	return json_pack("{s:I, s:o}", "members", (json_int_t)members, "joins", nonces);
}

int storage_gang_newest_attempt(struct storage *storage, uint32_t *newest, struct cancel *cancel,
				struct err *err)
{
	return job_records_newest_attempt(storage, newest, cancel, err);
}

static int read_claim_body(struct storage *storage, uint32_t number, json_t **body,
			   struct cancel *cancel, struct err *err)
{
	auto_free char *key = job_record_key_attempt(storage, number);

	return job_record_get(storage->transfer.store, key, RECORD_ATTEMPT, body, cancel, err);
}

int storage_gang_newest_claim(struct storage *storage, uint32_t member, struct gang_claim *claim,
			      struct cancel *cancel, struct err *err)
{
	auto_(job_listing_release) struct job_listing listing = {0};
	auto_json json_t *body = NULL;
	const struct lineage *lineage = &listing.lineage;
	uint32_t newest = 0;
	json_t *joins;

	if (job_records_list_singles(storage, &listing, cancel, err) < 0)
		return -1;
	for (size_t i = 0; i < lineage->attempt_count; i++)
		if (listing.records[i].claimed && !lineage->attempts[i].unconfirmed)
			newest = lineage->attempts[i].number;
	if (newest == claim->attempt)
		return 0;
	*claim = (struct gang_claim){0};
	if (read_claim_body(storage, newest, &body, cancel, err) < 0)
		return -1;
	claim->attempt = newest;
	text_set(claim->host, sizeof(claim->host), json_text_or(body, "host", ""));
	joins = json_object_get(json_object_get(json_object_get(body, "about"), "gang"), "joins");
	if (json_is_string(json_array_get(joins, member)))
		text_set(claim->nonce, sizeof(claim->nonce),
			 json_string_value(json_array_get(joins, member)));
	return 0;
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
	storage->own_claim = (struct own_claim){.number = number};
	text_set(storage->own_claim.nonce, sizeof(storage->own_claim.nonce),
		 json_text_or(body, "nonce", ""));
	own_claim_note_time(storage, &listing, number);
	if (listing.lineage.snapshot_count > 0)
		storage->newest_at_claim =
			listing.lineage.snapshots[listing.lineage.snapshot_count - 1];
	return 0;
}

/* --- notices --- */

static char *notice_key(const struct storage *storage, uint32_t attempt, uint32_t member)
{
	return text_format("jobs/%s/gang/%06u/notice-%05u.json", storage->transfer.job, attempt,
			   member);
}

int storage_gang_put_notice(struct storage *storage, uint32_t attempt,
			    const struct gang_notice *notice, struct cancel *cancel,
			    struct err *err)
{
	auto_free char *key = notice_key(storage, attempt, notice->member);
	char created[32];
	auto_json json_t *body =
		json_pack("{s:I, s:I, s:s, s:s, s:s}", "member", (json_int_t)notice->member,
			  "left_ms", (json_int_t)notice->left_ms, "reason", notice->reason,
			  "created", clock_format(clock_wall_ms(), created, sizeof(created)),
			  "host", storage->host);

	if (!body)
		return err_set(err, ERR_FAILED, "cannot write the notice as JSON");
	return job_record_put(storage->transfer.store, key, RECORD_NOTICE, body, NULL, cancel, err);
}

/* By the store's clock. */
static int has_commit_since(struct storage *storage, uint32_t attempt, int64_t put_ms, bool *since,
			    struct cancel *cancel, struct err *err)
{
	auto_free char *prefix =
		text_format("jobs/%s/snapshots/%06u-", storage->transfer.job, attempt);
	auto_(store_listing_release) struct store_listing found = {0};

	*since = false;
	if (storage->transfer.store->ops->list(storage->transfer.store, prefix, STORE_ALL, &found,
					       cancel, err) < 0)
		return -1;
	for (size_t i = 0; i < found.count; i++)
		*since |= put_ms > 0 && found.items[i].modified_ms >= put_ms;
	return 0;
}

int storage_gang_find_notice(struct storage *storage, uint32_t attempt, struct gang_notice *notice,
			     bool *any, struct cancel *cancel, struct err *err)
{
	auto_free char *prefix =
		text_format("jobs/%s/gang/%06u/notice-", storage->transfer.job, attempt);
	auto_(store_listing_release) struct store_listing found = {0};

	*any = false;
	if (storage->transfer.store->ops->list(storage->transfer.store, prefix, STORE_ALL, &found,
					       cancel, err) < 0)
		return -1;
	for (size_t i = 0; i < found.count && !*any; i++) {
		uint32_t member = (uint32_t)strtoul(found.items[i].key + strlen(prefix), NULL, 10);
		auto_json json_t *body = NULL;

		if (member == storage->gang.member)
			continue;
		if (job_record_get(storage->transfer.store, found.items[i].key, RECORD_NOTICE,
				   &body, cancel, err) < 0)
			return -1;
		*any = true;
		*notice = (struct gang_notice){
			.member = member,
			.left_ms = json_number_or(body, "left_ms", 0),
		};
		text_set(notice->host, sizeof(notice->host), json_text_or(body, "host", ""));
		text_set(notice->reason, sizeof(notice->reason), json_text_or(body, "reason", ""));
		if (has_commit_since(storage, attempt, found.items[i].modified_ms,
				     &notice->answered, cancel, err) < 0)
			return -1;
	}
	return 0;
}
