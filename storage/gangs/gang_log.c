/*
 * The log of a gang's attempt: what its members agree upon, in one order. Event K is the object
 * gang/<A>/log/<K>.json, put if-absent: whoever loses reads what won, and decides again.
 */
#include "storage/storage.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "gang_records.h"
#include "gangs.h"
#include "storage/records/records.h"

#include <stdlib.h>
#include <string.h>

static char *event_key(const struct storage *storage, uint32_t attempt, uint32_t number)
{
	return text_format("jobs/%s/gang/%06u/log/%06u.json", storage->transfer.job, attempt,
			   number);
}

int storage_gang_read(struct storage *storage, uint32_t attempt, uint32_t number,
		      struct gang_event *event, bool *there, struct cancel *cancel, struct err *err)
{
	auto_free char *key = event_key(storage, attempt, number);
	auto_json json_t *body = NULL;
	struct err own = {0};

	*there = false;
	if (job_record_get(storage->transfer.store, key, RECORD_EVENT, &body, cancel, &own) < 0) {
		if (own.kind == ERR_NOT_FOUND)
			return 0;
		return err_pass(err, &own);
	}
	if (gang_event_decode(body, attempt, number, event, err) < 0)
		return err_wrap(err, "event %u of the gang", number);
	*there = true;
	return 0;
}

/* Of an event that has the number already: an earlier try may have put it, whose answer was lost.
 * It was perhaps written at another second, so that its bytes may be others. */
static int find_own_event(struct storage *storage, uint32_t attempt, const struct gang_event *event,
			  bool *taken, struct cancel *cancel, struct err *err)
{
	struct gang_event found;
	struct err own = {0};
	bool there;

	if (storage_gang_read(storage, attempt, event->number, &found, &there, cancel, &own) == 0) {
		*taken = there && gang_event_equal(&found, event);
		return 0;
	}
	/* Of whatever kind it is, it is not this one. */
	if (own.kind == ERR_VERSION || own.kind == ERR_CORRUPT)
		return 0;
	return err_pass(err, &own);
}

int storage_gang_append(struct storage *storage, uint32_t attempt, struct gang_event *event,
			bool *taken, struct cancel *cancel, struct err *err)
{
	auto_free char *key = event_key(storage, attempt, event->number);
	auto_json json_t *body = NULL;
	char created[32];
	struct err own = {0};

	*taken = false;
	if (!event->nonce[0])
		random_hex(event->nonce);
	if (!event->host[0])
		text_set(event->host, sizeof(event->host), storage->host);
	body = gang_event_encode(event, attempt,
				 clock_format(clock_wall_ms(), created, sizeof(created)), err);
	if (!body)
		return -1;
	if (job_record_put(storage->transfer.store, key, RECORD_EVENT, body, NULL, cancel, &own) ==
	    0) {
		*taken = true;
		return 0;
	}
	if (own.kind == ERR_EXISTS)
		return find_own_event(storage, attempt, event, taken, cancel, err);
	err_pass(err, &own);
	return err_wrap(err, "event %u of the gang", event->number);
}

/* One byte is enough. */
static int is_there(struct storage *storage, const char *key, bool *there, struct cancel *cancel,
		    struct err *err)
{
	auto_(bytes_release) struct bytes first = {.limit = 1};
	struct err own = {0};

	*there = storage->transfer.store->ops->get(storage->transfer.store, key, 0, 1, &first,
						   cancel, &own) == 0;
	if (*there || own.kind == ERR_NOT_FOUND)
		return 0;
	return err_pass(err, &own);
}

int storage_gang_is_committed(struct storage *storage, uint32_t attempt, uint32_t round,
			      bool *committed, struct cancel *cancel, struct err *err)
{
	auto_free char *key =
		job_record_key_snapshot(storage, (struct snapshot_id){attempt, round});

	return is_there(storage, key, committed, cancel, err);
}

int storage_gang_is_claimed(struct storage *storage, uint32_t attempt, bool *claimed,
			    struct cancel *cancel, struct err *err)
{
	auto_free char *key = job_record_key_attempt(storage, attempt, "");

	return is_there(storage, key, claimed, cancel, err);
}

/* --- who has given a part --- */

int gang_list_members(struct storage *storage, const char *prefix, uint32_t members, bool *there,
		      struct cancel *cancel, struct err *err)
{
	auto_(store_listing_release) struct store_listing found = {0};
	uint32_t member;

	if (members > 0)
		memset(there, 0, members * sizeof(*there));
	if (job_records_list_keys(storage, prefix, &found, cancel, err) < 0)
		return -1;
	for (size_t i = 0; i < found.count; i++)
		if (gang_part_parse_member(found.items[i].key + strlen(prefix), &member) &&
		    member < members)
			there[member] = true;
	return 0;
}

int storage_gang_given(struct storage *storage, uint32_t attempt, uint32_t round, uint32_t members,
		       bool *given, struct cancel *cancel, struct err *err)
{
	auto_free char *prefix =
		text_format("jobs/%s/parts/%06u/%06u/", storage->transfer.job, attempt, round);

	return gang_list_members(storage, prefix, members, given, cancel, err);
}

int storage_gang_read_kept(struct storage *storage, struct snapshot_id id, uint32_t member,
			   json_t **paths, struct cancel *cancel, struct err *err)
{
	auto_free char *key = gang_part_key(storage, id, member);
	auto_json json_t *body = NULL;

	*paths = NULL;
	if (job_record_get(storage->transfer.store, key, RECORD_PART, &body, cancel, err) < 0)
		return err_wrap(err, "the part of member %u", member);
	*paths = json_incref(json_object_get(body, "kept"));
	return 0;
}
