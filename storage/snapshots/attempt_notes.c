/* Keeps events, log and metrics of an attempt for people and reports. No decision depends on
 * them. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/workers.h"
#include "snapshots.h"
#include "storage/records/records.h"
#include "storage/storage.h"

#include <stdlib.h>
#include <string.h>

/* Reads how the newest attempts of a job went: their claims, their end records, and how many
 * snapshots each has committed. */

/* A lost or damaged record leaves *body NULL and is no error; every other failure is one. */
static int get_record(struct storage *storage, const char *key, enum record_kind kind,
		      json_t **body, struct cancel *cancel, struct err *err)
{
	struct err own = {0};

	*body = NULL;
	if (job_record_get(storage->transfer.store, key, kind, body, cancel, &own) == 0 ||
	    own.kind == ERR_CORRUPT || own.kind == ERR_NOT_FOUND)
		return 0;
	return err_pass(err, &own);
}

static void fill_claim(struct attempt_summary *past, const struct lineage_attempt *claim,
		       json_t *body)
{
	past->known = true;
	past->start = claim->start;
	past->suspect = claim->suspect;
	text_set(past->created, sizeof(past->created), json_text_or(body, "created", ""));
	past->about = json_incref(json_object_get(body, "about"));
	if (claim->ended || !lineage_has_ended(claim))
		return;
	past->ended = true;
	text_set(past->outcome, sizeof(past->outcome), "saved");
	text_set(past->ended_at, sizeof(past->ended_at), past->created);
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

static int ask_claim(struct storage *storage, const void *about, void *answer,
		     struct cancel *cancel, struct err *err)
{
	const struct lineage_attempt *listed = about;
	struct attempt_summary *past = answer;
	auto_free char *key = job_record_key_attempt(storage, past->number, "");
	struct lineage_attempt claim = *listed;
	auto_json json_t *body = NULL;

	if (get_record(storage, key, RECORD_ATTEMPT, &body, cancel, err) < 0)
		return -1;
	claim.known = body && job_record_decode_claim(body, &claim);
	if (!claim.known)
		return 0;
	fill_claim(past, &claim, body);
	known_claims_add(&storage->claims, &claim);
	return 0;
}

static int ask_end(struct storage *storage, const void *about, void *answer, struct cancel *cancel,
		   struct err *err)
{
	struct attempt_summary *past = answer;
	auto_free char *key = job_record_key_attempt(storage, past->number, ".end");
	auto_json json_t *body = NULL;

	(void)about;
	if (get_record(storage, key, RECORD_END, &body, cancel, err) < 0)
		return -1;
	fill_end(past, body);
	return 0;
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
			struct job_listing *listing, struct cancel *cancel, struct err *err)
{
	struct lineage *lineage = &listing->lineage;
	auto_free struct question *questions = NULL;
	size_t count = 0;
	bool looks;

	if (!first_look_take(storage, listing, true) &&
	    job_records_list_lineage(storage, listing, cancel, err) < 0)
		return -1;
	history->count = lineage->attempt_count < most ? lineage->attempt_count : most;
	if (history->count == 0)
		return 0;
	history->items = memory_new(history->count * sizeof(*history->items));
	questions = memory_new((2 * history->count + 2) * sizeof(*questions));
	for (size_t i = 0; i < history->count; i++) {
		size_t at = lineage->attempt_count - 1 - i;
		struct attempt_summary *past = &history->items[i];

		past->number = lineage->attempts[at].number;
		count_snapshots(lineage, past);
		questions[count++] = (struct question){ask_claim, &lineage->attempts[at], past};
		if (lineage->attempts[at].ended)
			questions[count++] = (struct question){ask_end, NULL, past};
	}
	/* Whoever reads the history is about to claim. */
	looks = storage->will_claim && lineage->snapshot_count > 0;
	if (looks)
		count = first_look_add(storage, lineage->snapshots[lineage->snapshot_count - 1],
				       questions, count);
	if (ask_at_once(storage, questions, count, cancel, err) < 0)
		return -1;
	/* The newest save by hand may still be sending. */
	if (!lineage->attempts[lineage->attempt_count - 1].saved &&
	    !lineage->attempts[lineage->attempt_count - 1].ended)
		history->items[0].ended = false;
	if (looks)
		first_look_added(storage);
	return 0;
}

int storage_history(struct storage *storage, size_t most, struct attempt_history *history,
		    struct cancel *cancel, struct err *err)
{
	auto_(job_listing_release) struct job_listing listing = {0};

	*history = (struct attempt_history){0};
	if (read_history(storage, most, history, &listing, cancel, err) == 0) {
		if (storage->will_claim)
			first_look_keep(storage, &listing, false);
		return 0;
	}
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

#define THREADS_MOST 16

static char *note_key_prefix(const struct storage *storage, uint32_t attempt, const char *kind)
{
	return text_format("jobs/%s/notes/%06u/%s-", storage->transfer.job, attempt, kind);
}

int storage_put_note(struct storage *storage, uint32_t attempt, const char *kind, unsigned part,
		     const void *data, size_t size, struct cancel *cancel, struct err *err)
{
	auto_free char *prefix = note_key_prefix(storage, attempt, kind);
	auto_free char *key = text_format("%s%04u", prefix, part);

	return storage->transfer.store->ops->put(storage->transfer.store, key, data, size,
						 STORE_UNIQUE, cancel, err);
}

int storage_get_notes(struct storage *storage, uint32_t attempt, const char *kind,
		      struct bytes *out, struct cancel *cancel, struct err *err)
{
	auto_free char *prefix = note_key_prefix(storage, attempt, kind);
	auto_(store_listing_release) struct store_listing listing = {0};

	if (job_records_list_keys(storage, prefix, &listing, cancel, err) < 0)
		return -1;
	for (size_t i = 0; i < listing.count; i++)
		if (storage->transfer.store->ops->get(storage->transfer.store, listing.items[i].key,
						      0, STORE_TO_END, out, cancel, err) < 0)
			return -1;
	return 0;
}

/* --- the ledgers of all attempts --- */

struct ledgers_read {
	struct storage *storage;
	uint32_t oldest;
	struct store_listing notes;
	struct bytes *parts; /* one for each note; of other notes, and of what is gone: empty */
	struct cancel *cancel;
};

/* The attempt that the note is of; 0: of none that is wanted. */
static uint32_t attempt_of(const struct ledgers_read *reading, size_t at)
{
	size_t prefix = strlen("jobs//notes/") + strlen(reading->storage->transfer.job);
	const char *rest;
	uint32_t number;

	return job_record_parse_leading_number(reading->notes.items[at].key + prefix, &number,
					       &rest) &&
			       *rest == '/' && number >= reading->oldest
		       ? number
		       : 0;
}

/* One that is not there any more is of an attempt that was forgotten. */
static int read_part(void *arg, size_t at, struct err *err)
{
	struct ledgers_read *reading = arg;
	const char *key = reading->notes.items[at].key;
	struct store *store = reading->storage->transfer.store;

	return attempt_of(reading, at) == 0 || !text_starts(strrchr(key, '/') + 1, "ledger-") ||
			       store->ops->get(store, key, 0, STORE_TO_END, &reading->parts[at],
					       reading->cancel, err) == 0 ||
			       err->kind == ERR_NOT_FOUND
		       ? 0
		       : -1;
}

static void take_ledgers(struct ledgers_read *reading, ledger_fn *take, void *arg)
{
	for (size_t i = 0, end; i < reading->notes.count; i = end) {
		uint32_t number = attempt_of(reading, i);
		auto_(bytes_release) struct bytes ledger = {0};

		for (end = i; end < reading->notes.count && attempt_of(reading, end) == number;
		     end++)
			(void)bytes_append(&ledger, reading->parts[end].data,
					   reading->parts[end].size, NULL);
		if (number > 0 && ledger.size > 0)
			take(arg, number, &ledger);
	}
}

int storage_each_ledger(struct storage *storage, uint32_t oldest, ledger_fn *take, void *arg,
			struct cancel *cancel, struct err *err)
{
	struct ledgers_read reading = {.storage = storage, .oldest = oldest, .cancel = cancel};
	auto_free char *prefix = text_format("jobs/%s/notes/", storage->transfer.job);
	int result = job_records_list_keys(storage, prefix, &reading.notes, cancel, err);

	reading.parts = memory_new(reading.notes.count * sizeof(*reading.parts));
	if (result == 0)
		result = parallel_each(reading.notes.count, THREADS_MOST, read_part, &reading, err);
	if (result == 0)
		take_ledgers(&reading, take, arg);
	for (size_t i = 0; i < reading.notes.count; i++)
		bytes_release(&reading.parts[i]);
	free(reading.parts);
	store_listing_release(&reading.notes);
	return result < 0
		       ? err_wrap(err, "cannot read the ledgers of job %s", storage->transfer.job)
		       : 0;
}
