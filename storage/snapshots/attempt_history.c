/* Reads how the newest attempts of a job went: their claims, their end records, and how many
 * snapshots each has committed. */
#include "storage/storage.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "storage/records/records.h"

#include <stdlib.h>

/* A lost or damaged record leaves *body NULL and is no error; every other failure is one. */
static int get_record(struct storage *storage, const char *key, enum record_kind kind,
		      json_t **body, struct cancel *cancel, struct err *err)
{
	struct err own = {0};

	*body = NULL;
	if (look_record(storage, key, kind, body, cancel, &own) == 0 || own.kind == ERR_CORRUPT ||
	    own.kind == ERR_NOT_FOUND)
		return 0;
	if (err)
		*err = own;
	return -1;
}

static void fill_claim(struct attempt_summary *past, const struct lineage_attempt *claim,
		       json_t *body)
{
	past->known = true;
	past->start = claim->start;
	past->suspect = claim->suspect;
	text_set(past->created, sizeof(past->created), json_text_or(body, "created", ""));
	past->about = json_incref(json_object_get(body, "about"));
}

static void fill_end(struct attempt_summary *past, json_t *body)
{
	past->ended = body != NULL;
	if (!past->ended)
		return;
	text_set(past->outcome, sizeof(past->outcome), json_text_or(body, "outcome", ""));
	text_set(past->ended_at, sizeof(past->ended_at), json_text_or(body, "created", ""));
	past->end_about = json_incref(json_object_get(body, "about"));
}

static int read_claim(struct storage *storage, struct attempt_summary *past,
		      const struct attempt_records *records, struct cancel *cancel, struct err *err)
{
	auto_free char *key = job_record_key_attempt(storage, past->number);
	struct lineage_attempt claim = {.number = past->number};
	auto_json json_t *body = NULL;

	if (get_record(storage, key, RECORD_ATTEMPT, &body, cancel, err) < 0)
		return -1;
	claim.known = body && job_record_decode_claim(body, &claim);
	if (!claim.known)
		return 0;
	fill_claim(past, &claim, body);
	/* Whoever reads the history is about to claim. */
	known_claims_add(&storage->claims, records->claimed_ms, &claim);
	return 0;
}

static int read_end(struct storage *storage, struct attempt_summary *past, struct cancel *cancel,
		    struct err *err)
{
	auto_free char *key = job_record_key_end(storage, past->number);
	auto_json json_t *body = NULL;

	if (get_record(storage, key, RECORD_END, &body, cancel, err) < 0)
		return -1;
	fill_end(past, body);
	return 0;
}

/* What is most likely chosen by whoever claims then is read as well. */
static void want_newest(struct storage *storage, const struct lineage *lineage)
{
	struct snapshot_id newest;

	if (lineage->snapshot_count == 0)
		return;
	newest = lineage->snapshots[lineage->snapshot_count - 1];
	look_want(storage, job_record_key_snapshot(storage, newest));
	pack_listing_want(storage, newest);
}

static void count_snapshots(const struct lineage *lineage, struct attempt_summary *past)
{
	size_t i = lineage_first_from(lineage, (struct snapshot_id){past->number, 0});

	for (; i < lineage->snapshot_count && lineage->snapshots[i].attempt == past->number; i++) {
		past->snapshots++;
		past->newest = lineage->snapshots[i].sequence;
	}
}

static int read_history(struct storage *storage, size_t most, struct attempt_history *history,
			struct cancel *cancel, struct err *err)
{
	auto_(job_listing_release) struct job_listing listing = {0};
	struct lineage *lineage = &listing.lineage;

	/* What was listed at the opening serves the claim as well. */
	if (storage->history_read)
		look_end(storage);
	storage->history_read = true;
	job_records_want_lineage(storage);
	look_ask(storage, NULL, NULL, cancel);
	look_keep(storage);
	if (job_records_list_snapshots(storage, &listing, cancel, err) < 0 ||
	    job_records_list_attempts(storage, &listing, cancel, err) < 0)
		return -1;
	history->count = lineage->attempt_count < most ? lineage->attempt_count : most;
	if (history->count == 0)
		return 0;
	history->items = memory_new(history->count * sizeof(*history->items));
	want_newest(storage, lineage);
	for (size_t i = 0; i < history->count; i++) {
		size_t at = lineage->attempt_count - 1 - i;

		history->items[i].number = lineage->attempts[at].number;
		count_snapshots(lineage, &history->items[i]);
		look_want(storage, job_record_key_attempt(storage, history->items[i].number));
		if (listing.records[at].ended)
			look_want(storage, job_record_key_end(storage, history->items[i].number));
	}
	look_ask(storage, NULL, NULL, cancel);
	for (size_t i = 0; i < history->count; i++) {
		const struct attempt_records *records =
			&listing.records[lineage->attempt_count - 1 - i];

		if (read_claim(storage, &history->items[i], records, cancel, err) < 0 ||
		    (records->ended && read_end(storage, &history->items[i], cancel, err) < 0))
			return -1;
	}
	return 0;
}

int storage_history(struct storage *storage, size_t most, struct attempt_history *history,
		    struct cancel *cancel, struct err *err)
{
	*history = (struct attempt_history){0};
	if (read_history(storage, most, history, cancel, err) == 0)
		return 0;
	attempt_history_release(history);
	return err_wrap(err, "cannot read the history of job %s", storage->transfer.job);
}

void attempt_history_release(struct attempt_history *history)
{
	for (size_t i = 0; i < history->count; i++) {
		json_decref(history->items[i].about);
		json_decref(history->items[i].end_about);
	}
	free(history->items);
	*history = (struct attempt_history){0};
}
