/*
 * Announces how long a preempted attempt may still commit. The next attempt waits for that long,
 * because its claim would fence the save that is under way. Each announcement is an object of its
 * own and the newest counts, so that a deadline can move and a notice can be withdrawn.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "snapshots.h"
#include "storage/records/records.h"
#include "storage/storage.h"

#include <stdlib.h>
#include <string.h>

/* `id` is the attempt and the number of its announcement. */
static char *drain_record_key(const struct storage *storage, struct snapshot_id id)
{
	return text_format("jobs/%s/draining/%06u-%06u.json", storage->transfer.job, id.attempt,
			   id.sequence);
}

int storage_announce_drain(struct storage *storage, uint32_t attempt, uint32_t announcement,
			   int64_t left_ms, struct cancel *cancel, struct err *err)
{
	auto_free char *key =
		drain_record_key(storage, (struct snapshot_id){attempt, announcement});
	char until[32];
	bool stands = left_ms >= 0;

	clock_format(clock_wall_ms() + left_ms, until, sizeof(until));
	return job_record_put_new(storage, key, RECORD_DRAIN, cancel, err, "{s:I, s:s?, s:o}",
				  "attempt", (json_int_t)attempt, "until", stands ? until : NULL,
				  "left_ms", stands ? json_integer(left_ms) : json_null());
}

struct announcement {
	struct snapshot_id id;
	int64_t put_ms; /* by the store's clock; 0: unknown */
};

/* newest->id is none if no attempt has ever announced anything. */
static int find_newest_announcement(struct storage *storage, struct announcement *newest,
				    struct cancel *cancel, struct err *err)
{
	auto_free char *prefix = text_format("jobs/%s/draining/", storage->transfer.job);
	auto_(store_listing_release) struct store_listing found = {0};

	*newest = (struct announcement){0};
	if (!first_look_take_draining(storage, &found) &&
	    job_records_list_keys(storage, prefix, &found, cancel, err) < 0)
		return -1;
	for (size_t i = 0; i < found.count; i++) {
		struct snapshot_id id;

		if (job_record_parse_id(found.items[i].key + strlen(prefix), &id) &&
		    snapshot_id_compare(id, newest->id) > 0)
			*newest = (struct announcement){id, found.items[i].modified_ms};
	}
	return 0;
}

static int find_newest_attempt(struct storage *storage, uint32_t *number, bool *ended,
			       struct cancel *cancel, struct err *err)
{
	auto_(job_listing_release) struct job_listing listing = {0};
	size_t count;

	if (job_records_list_singles(storage, &listing, cancel, err) < 0)
		return -1;
	count = listing.lineage.attempt_count;
	*number = count > 0 ? listing.lineage.attempts[count - 1].number : 0;
	*ended = count > 0 && listing.lineage.attempts[count - 1].ended;
	return 0;
}

static int64_t announcement_age_ms(struct storage *storage, const struct announcement *announcement,
				   struct cancel *cancel)
{
	int64_t now_ms = 0;

	if (announcement->put_ms <= 0 || store_clock_read(storage, &now_ms, cancel, NULL) < 0 ||
	    now_ms < announcement->put_ms)
		return 0;
	return now_ms - announcement->put_ms;
}

static int read_announcement(struct storage *storage, const struct announcement *announcement,
			     struct drain_state *draining, struct cancel *cancel, struct err *err)
{
	auto_free char *key = drain_record_key(storage, announcement->id);
	auto_json json_t *body = NULL;
	struct err own = {0};

	/* An unreadable announcement counts as none: nobody waits for it. */
	if (job_record_get(storage->transfer.store, key, RECORD_DRAIN, &body, cancel, &own) < 0 &&
	    own.kind != ERR_CORRUPT && own.kind != ERR_NOT_FOUND && own.kind != ERR_VERSION) {
		return err_pass(err, &own);
	}
	*draining = (struct drain_state){
		.attempt = announcement->id.attempt,
		.announcement = announcement->id.sequence,
		.left_ms = body ? json_number_or(body, "left_ms", -1) : -1,
	};
	if (body)
		text_set(draining->host, sizeof(draining->host), json_text_or(body, "host", ""));
	if (draining->left_ms > 0)
		draining->age_ms = announcement_age_ms(storage, announcement, cancel);
	return 0;
}

int storage_poll_drain(struct storage *storage, struct drain_state *draining, struct cancel *cancel,
		       struct err *err)
{
	struct announcement newest;
	uint32_t attempt = 0;
	bool ended = false;

	if (find_newest_announcement(storage, &newest, cancel, err) < 0)
		return -1;
	if (!snapshot_id_is_none(newest.id) &&
	    find_newest_attempt(storage, &attempt, &ended, cancel, err) < 0)
		return -1;
	if (attempt == 0 || attempt != newest.id.attempt) {
		*draining = (struct drain_state){0};
		return 0;
	}
	if (!ended &&
	    (draining->attempt != newest.id.attempt ||
	     draining->announcement != newest.id.sequence) &&
	    read_announcement(storage, &newest, draining, cancel, err) < 0)
		return -1;
	draining->attempt = attempt;
	draining->ended = ended;
	return 0;
}
