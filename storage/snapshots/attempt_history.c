/* Reads how the newest attempts of a job went: their claims, their end records, and how many
 * snapshots each has committed. */
#include "storage/storage.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/workers.h"
#include "storage/records/records.h"

#include <stdlib.h>

#define THREADS_MOST 16
/* Attempts that are summed up while they are being read are looked for again. */
#define LOOKS_MOST 3

struct history_read {
	struct storage *storage;
	struct attempt_history *history;
	/* Per item. */
	const struct attempt_records *records;
	struct cancel *cancel;
	struct err *errs; /* per item */
	/* A record was listed and is not there: the attempt was summed up meanwhile, or it is lost.
	 */
	atomic_bool vanished;
	atomic_size_t next;
};

/* A lost or damaged record leaves *body NULL and is no error; every other failure is one. */
static int get_record(struct storage *storage, const char *key, enum record_kind kind,
		      json_t **body, struct cancel *cancel, struct err *err)
{
	*body = NULL;
	if (job_record_get(storage->transfer.store, key, kind, body, cancel, err) == 0 ||
	    err->kind == ERR_CORRUPT || err->kind == ERR_NOT_FOUND)
		return 0;
	return -1;
}

static void fill_claim(struct attempt_summary *past, json_t *body)
{
	struct lineage_attempt claim = {.number = past->number};

	past->known = body && job_record_decode_claim(body, &claim);
	if (!past->known)
		return;
	past->start = claim.start;
	past->suspect = claim.suspect;
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

/* Whoever reads the history is about to claim. */
static void remember_claim(struct history_read *history_read, const struct attempt_summary *past,
			   json_t *body)
{
	const struct attempt_records *records =
		&history_read->records[past - history_read->history->items];
	struct lineage_attempt claim = {.number = past->number};

	claim.known = body && job_record_decode_claim(body, &claim);
	claim.unconfirmed = json_true_or(body, "confirms", false);
	if (claim.known)
		claim_cache_add(&history_read->storage->claims, records->claimed_ms, &claim);
}

static int read_claim(struct history_read *history_read, struct attempt_summary *past,
		      struct err *err)
{
	auto_free char *key = job_record_key_attempt(history_read->storage, past->number);
	auto_json json_t *body = NULL;

	if (get_record(history_read->storage, key, RECORD_ATTEMPT, &body, history_read->cancel,
		       err) < 0)
		return -1;
	fill_claim(past, body);
	remember_claim(history_read, past, body);
	return 0;
}

static int read_end(struct history_read *history_read, struct attempt_summary *past,
		    struct err *err)
{
	auto_free char *key = job_record_key_end(history_read->storage, past->number);
	auto_json json_t *body = NULL;

	if (get_record(history_read->storage, key, RECORD_END, &body, history_read->cancel, err) <
	    0)
		return -1;
	fill_end(past, body);
	return 0;
}

static void read_worker(void *arg, size_t index)
{
	struct history_read *history_read = arg;
	size_t i;

	(void)index;
	while ((i = atomic_fetch_add(&history_read->next, 1)) < history_read->history->count) {
		struct attempt_summary *past = &history_read->history->items[i];

		if (history_read->records[i].summarised)
			continue;
		if (read_claim(history_read, past, &history_read->errs[i]) == 0 &&
		    history_read->records[i].ended)
			(void)read_end(history_read, past, &history_read->errs[i]);
		/* get_record() leaves the error of a lost or damaged record behind, though it is no
		 * failure. */
		if (history_read->records[i].claimed && history_read->errs[i].kind == ERR_NOT_FOUND)
			atomic_store(&history_read->vanished, true);
		if (history_read->errs[i].kind == ERR_CORRUPT ||
		    history_read->errs[i].kind == ERR_NOT_FOUND)
			history_read->errs[i] = (struct err){0};
	}
}

static int read_attempts(struct storage *storage, struct attempt_history *history,
			 const struct attempt_records *records, bool *vanished,
			 struct cancel *cancel, struct err *err)
{
	auto_free struct err *errs = memory_new(history->count * sizeof(*errs));
	struct history_read history_read = {
		.storage = storage,
		.history = history,
		.records = records,
		.cancel = cancel,
		.errs = errs,
	};

	parallel_run(history->count < THREADS_MOST ? history->count : THREADS_MOST, read_worker,
		     &history_read);
	*vanished = atomic_load(&history_read.vanished);
	for (size_t i = 0; i < history->count; i++) {
		if (errs[i].kind == 0)
			continue;
		if (err)
			*err = errs[i];
		return -1;
	}
	return 0;
}

/* --- those that were summed up --- */

/* Fills the attempts of the history that are among the bodies, which are ascending. */
static void fill_from_bodies(struct attempt_history *history, json_t *bodies)
{
	size_t at = json_array_size(bodies);

	/* The history is newest first. */
	for (size_t i = 0; i < history->count && at > 0; i++) {
		struct attempt_summary *past = &history->items[i];
		json_t *body;

		while (at > 0 && json_number_or(json_array_get(bodies, at - 1), "attempt", 0) >
					 (json_int_t)past->number)
			at--;
		body = at > 0 ? json_array_get(bodies, at - 1) : NULL;
		if (json_number_or(body, "attempt", 0) != (json_int_t)past->number)
			continue;
		if (!past->known && json_is_object(json_object_get(body, "claim")))
			fill_claim(past, json_object_get(body, "claim"));
		if (!past->ended && json_is_object(json_object_get(body, "end")))
			fill_end(past, json_object_get(body, "end"));
	}
}

/* An archive that is damaged, or was removed, leaves its attempts unknown. */
static int read_archives(struct storage *storage, struct attempt_history *history,
			 struct cancel *cancel, struct err *err)
{
	uint32_t oldest = history->items[history->count - 1].number;
	auto_free struct snapshot_id *ranges = NULL;
	size_t count;

	/* The numbers of the first and the last attempt of each. */
	if (job_records_list_ids(storage, "archives", &ranges, &count, cancel, err) < 0)
		return -1;
	for (size_t i = count; i > 0; i--) {
		uint32_t first = ranges[i - 1].attempt, last = ranges[i - 1].sequence;
		auto_free char *key = job_record_key_archive(storage, first, last);
		auto_json json_t *body = NULL;
		struct err own = {0};

		if (last < oldest)
			continue;
		if (get_record(storage, key, RECORD_ARCHIVE, &body, cancel, &own) == 0) {
			fill_from_bodies(history, json_object_get(body, "attempts"));
			continue;
		}
		if (err)
			*err = own;
		return -1;
	}
	return 0;
}

static int read_summarised(struct storage *storage, struct attempt_history *history,
			   const struct attempt_records *records, struct cancel *cancel,
			   struct err *err)
{
	json_t *recent = storage->summary.recent;
	int64_t oldest = json_number_or(json_array_get(recent, 0), "attempt", INT64_MAX);

	if (!records[history->count - 1].summarised)
		return 0;
	fill_from_bodies(history, recent);
	return history->items[history->count - 1].number < oldest
		       ? read_archives(storage, history, cancel, err)
		       : 0;
}

static uint32_t count_snapshots(const struct lineage *lineage, uint32_t number)
{
	size_t first = lineage_first_from(lineage, (struct snapshot_id){number, 0}), i = first;

	while (i < lineage->snapshot_count && lineage->snapshots[i].attempt == number)
		i++;
	return (uint32_t)(i - first);
}

static int read_history(struct storage *storage, size_t most, struct attempt_history *history,
			bool *vanished, struct cancel *cancel, struct err *err)
{
	auto_(job_listing_release) struct job_listing listing = {0};
	struct lineage *lineage = &listing.lineage;
	auto_free struct attempt_records *records = NULL;

	*vanished = false;
	if (job_records_list_snapshots(storage, &listing, cancel, err) < 0 ||
	    job_records_list_attempts(storage, &listing, cancel, err) < 0)
		return -1;
	history->count = lineage->attempt_count < most ? lineage->attempt_count : most;
	if (history->count == 0)
		return 0;
	history->items = memory_new(history->count * sizeof(*history->items));
	records = memory_new(history->count * sizeof(*records));
	for (size_t i = 0; i < history->count; i++) {
		size_t at = lineage->attempt_count - 1 - i;

		history->items[i].number = lineage->attempts[at].number;
		history->items[i].snapshots =
			count_snapshots(lineage, lineage->attempts[at].number);
		records[i] = listing.records[at];
	}
	if (read_attempts(storage, history, records, vanished, cancel, err) < 0)
		return -1;
	return read_summarised(storage, history, records, cancel, err);
}

int storage_history(struct storage *storage, size_t most, struct attempt_history *history,
		    struct cancel *cancel, struct err *err)
{
	bool vanished = true;

	*history = (struct attempt_history){0};
	for (int i = 0; vanished && i < LOOKS_MOST; i++) {
		attempt_history_release(history);
		if (read_history(storage, most, history, &vanished, cancel, err) == 0)
			continue;
		attempt_history_release(history);
		return err_wrap(err, "cannot read the history of job %s", storage->transfer.job);
	}
	return 0;
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
