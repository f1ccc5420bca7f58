/* Reads how the newest attempts of a job went: their claims, their end records, and how many
 * snapshots each has committed. */
#include "storage/storage.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/workers.h"
#include "storage/records/records.h"

#include <stdlib.h>

#define THREADS_MOST 16

struct history_read {
	struct storage *storage;
	struct attempt_history *history;
	/* Per item. */
	const struct attempt_records *records;
	struct cancel *cancel;
	struct err *errs; /* per item */
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
	if (claim.known)
		known_claims_add(&history_read->storage->claims, records->claimed_ms, &claim);
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

		if (read_claim(history_read, past, &history_read->errs[i]) == 0 &&
		    history_read->records[i].ended)
			(void)read_end(history_read, past, &history_read->errs[i]);
		/* get_record() leaves the error of a lost or damaged record behind, though it is no
		 * failure. */
		if (history_read->errs[i].kind == ERR_CORRUPT ||
		    history_read->errs[i].kind == ERR_NOT_FOUND)
			history_read->errs[i] = (struct err){0};
	}
}

static int read_attempts(struct storage *storage, struct attempt_history *history,
			 const struct attempt_records *records, struct cancel *cancel,
			 struct err *err)
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
	for (size_t i = 0; i < history->count; i++) {
		if (errs[i].kind == 0)
			continue;
		if (err)
			*err = errs[i];
		return -1;
	}
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
			struct cancel *cancel, struct err *err)
{
	auto_(job_listing_release) struct job_listing listing = {0};
	struct lineage *lineage = &listing.lineage;
	auto_free struct attempt_records *records = NULL;

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
		count_snapshots(lineage, &history->items[i]);
		records[i] = listing.records[at];
	}
	return read_attempts(storage, history, records, cancel, err);
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
