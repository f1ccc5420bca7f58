#include "attempt_compaction.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/json.h"
#include "base/workers.h"
#include "storage/records/records.h"

#include <stdlib.h>
#include <string.h>

#define THREADS_MOST 16
/* A start reads how the newest attempts went: so many bodies stay in the summary, and the older
 * ones go to an archive when it has RECENT_MOST. */
#define RECENT_LEAST 16
#define RECENT_MOST 64

struct compaction {
	struct storage *storage;
	const struct job_listing *listing;
	struct cancel *cancel;
	/* The attempts that are summed up now: positions in the lineage. */
	size_t first, end;
	json_t **bodies; /* one for each of them */
	struct lineage_summary summary;
	/* The keys that may go. */
	const char **condemned;
	size_t condemned_count;
	atomic_size_t next;
	pthread_mutex_t mutex;
	bool failed; /* under mutex, like `err` */
	struct err err;
};

static void compaction_release(struct compaction *compaction)
{
	for (size_t i = 0; compaction->bodies && i < compaction->end - compaction->first; i++)
		json_decref(compaction->bodies[i]);
	free(compaction->bodies);
	free(compaction->condemned);
	lineage_summary_release(&compaction->summary);
	pthread_mutex_destroy(&compaction->mutex);
}
AUTO(struct compaction, compaction_release);

static void note_failure(struct compaction *compaction, const struct err *err)
{
	pthread_mutex_lock(&compaction->mutex);
	if (!compaction->failed)
		compaction->err = *err;
	compaction->failed = true;
	pthread_mutex_unlock(&compaction->mutex);
}

static int run_workers(struct compaction *compaction, size_t count,
		       void (*work)(void *arg, size_t index), struct err *err)
{
	atomic_store(&compaction->next, 0);
	if (count > 0)
		parallel_run(count < THREADS_MOST ? count : THREADS_MOST, work, compaction);
	if (!compaction->failed)
		return 0;
	if (err)
		*err = compaction->err;
	return -1;
}

/* --- what is summed up --- */

/* Of the attempts that keep their claims, one has a claim that a reader refuses which does not know
 * summaries: such a reader would take the others for lost. */
static bool others_are_warned(const struct job_listing *listing, size_t end)
{
	const struct lineage *lineage = &listing->lineage;

	for (size_t i = end; i < lineage->attempt_count; i++)
		if (listing->records[i].claimed && lineage->attempts[i].summaries)
			return true;
	return false;
}

/* The newest attempts keep their claims: they decide which number is next, who is superseded and
 * whether the store has been emptied. */
static void select_attempts(struct compaction *compaction, size_t most)
{
	const struct job_listing *listing = compaction->listing;
	const struct lineage *lineage = &listing->lineage;
	size_t claimed = 0, kept = 0, end = lineage->attempt_count;

	for (size_t i = 0; i < lineage->attempt_count; i++) {
		claimed += listing->records[i].claimed;
		compaction->first += lineage->attempts[i].number <= listing->through;
	}
	for (; end > compaction->first && kept < ATTEMPT_SINGLES_LEAST; end--)
		kept += listing->records[end - 1].claimed;
	if (claimed < ATTEMPT_SINGLES_MOST || !others_are_warned(listing, end))
		end = compaction->first;
	else if (end > compaction->first + most)
		end = compaction->first + most;
	compaction->end = end;
}

/* --- the bodies of their records --- */

/* What is damaged stays NULL. ERR_NOT_FOUND: somebody else has summed it up. */
static int read_record(struct compaction *compaction, const char *key, enum record_kind kind,
		       json_t **body, struct err *err)
{
	if (job_record_get(compaction->storage->transfer.store, key, kind, body, compaction->cancel,
			   err) == 0)
		return 0;
	*body = NULL;
	return err->kind == ERR_CORRUPT ? 0 : -1;
}

static int read_bodies(struct compaction *compaction, size_t at, struct err *err)
{
	const struct attempt_records *records = &compaction->listing->records[at];
	uint32_t number = compaction->listing->lineage.attempts[at].number;
	auto_free char *claim_key = job_record_key_attempt(compaction->storage, number);
	auto_free char *end_key = job_record_key_end(compaction->storage, number);
	auto_json json_t *claim = NULL, *end = NULL;

	if (records->claimed && read_record(compaction, claim_key, RECORD_ATTEMPT, &claim, err) < 0)
		return -1;
	if (records->ended && read_record(compaction, end_key, RECORD_END, &end, err) < 0)
		return -1;
	compaction->bodies[at - compaction->first] = lineage_summary_body(number, claim, end);
	return compaction->bodies[at - compaction->first]
		       ? 0
		       : err_set(err, ERR_FAILED, "cannot sum up attempt %u", number);
}

static void read_worker(void *arg, size_t index)
{
	struct compaction *compaction = arg;
	size_t count = compaction->end - compaction->first, i;

	(void)index;
	while ((i = atomic_fetch_add(&compaction->next, 1)) < count) {
		struct err err = {0};

		if (read_bodies(compaction, compaction->first + i, &err) == 0)
			continue;
		note_failure(compaction, &err);
		atomic_store(&compaction->next, count);
	}
}

/* --- the new summary --- */

static int compose_summary(struct compaction *compaction, struct err *err)
{
	const struct lineage *lineage = &compaction->listing->lineage;
	const struct lineage_summary *older = &compaction->storage->summary;
	struct lineage_summary *summary = &compaction->summary;
	size_t count = compaction->end - compaction->first;

	/* The lineage has all the rows of the older summary, but not its bodies. */
	if (older->through != compaction->listing->through)
		return err_set(err, ERR_RETRY, "the attempts were summed up by somebody else");
	summary->through = lineage->attempts[compaction->end - 1].number;
	summary->attempts = memory_new(compaction->end * sizeof(*summary->attempts));
	memcpy(summary->attempts, lineage->attempts, compaction->end * sizeof(*summary->attempts));
	summary->count = compaction->end;
	compaction->bodies = memory_new(count * sizeof(json_t *));
	if (run_workers(compaction, count, read_worker, err) < 0)
		return -1;
	summary->recent = json_array();
	if (older->recent)
		json_array_extend(summary->recent, older->recent);
	for (size_t i = 0; i < count; i++)
		json_array_append(summary->recent, compaction->bodies[i]);
	return 0;
}

static json_t *record_body(struct compaction *compaction, json_t *members)
{
	char nonce[33], created[32];

	if (!members)
		return NULL;
	random_hex(nonce);
	json_object_set_new(members, "nonce", json_string(nonce));
	json_object_set_new(members, "created",
			    json_string(clock_format(clock_wall_ms(), created, sizeof(created))));
	json_object_set_new(members, "host", json_string(compaction->storage->host));
	return members;
}

/* One that is there already, with what another process has read of the same attempts, is as
 * good. */
static int put_record(struct compaction *compaction, const char *key, enum record_kind kind,
		      json_t *members, struct err *err)
{
	auto_json json_t *body = record_body(compaction, members);
	struct err own = {0};

	if (!body)
		return err_set(err, ERR_FAILED, "cannot write %s as JSON", key);
	if (job_record_put(compaction->storage->transfer.store, key, kind, body, NULL,
			   compaction->cancel, &own) == 0 ||
	    own.kind == ERR_EXISTS)
		return 0;
	if (err)
		*err = own;
	return -1;
}

static uint32_t body_number(json_t *bodies, size_t at)
{
	return (uint32_t)json_number_or(json_array_get(bodies, at), "attempt", 0);
}

/* The older ones of the bodies move to an archive, which only reports read. */
static int put_archive(struct compaction *compaction, struct err *err)
{
	json_t *recent = compaction->summary.recent;
	size_t count = json_array_size(recent), moved;
	auto_json json_t *older = json_array();
	auto_free char *key = NULL;

	if (count <= RECENT_MOST)
		return 0;
	moved = count - RECENT_LEAST;
	for (size_t i = 0; i < moved; i++) {
		json_array_append(older, json_array_get(recent, 0));
		json_array_remove(recent, 0);
	}
	key = job_record_key_archive(compaction->storage, body_number(older, 0),
				     body_number(older, moved - 1));
	fault_point("before_archive_put");
	if (put_record(compaction, key, RECORD_ARCHIVE, json_pack("{s:O}", "attempts", older),
		       err) < 0)
		return -1;
	fault_point("after_archive_put");
	return 0;
}

/* Nothing is removed until the summary that is in the store says what the records say. */
static int check_summary(struct compaction *compaction, const char *key, struct err *err)
{
	auto_(lineage_summary_release) struct lineage_summary there = {0};
	auto_json json_t *body = NULL;

	if (job_record_get(compaction->storage->transfer.store, key, RECORD_SUMMARY, &body,
			   compaction->cancel, err) < 0 ||
	    lineage_summary_decode(body, compaction->summary.through, &there, err) < 0)
		return -1;
	if (!lineage_summary_covers(&there, &compaction->summary))
		return err_set(err, ERR_FAILED, "%s says something else than the records", key);
	return 0;
}

static int put_summary(struct compaction *compaction, struct err *err)
{
	auto_free char *key =
		job_record_key_summary(compaction->storage, compaction->summary.through);

	fault_point("before_summary_put");
	if (put_record(compaction, key, RECORD_SUMMARY,
		       lineage_summary_encode(&compaction->summary), err) < 0)
		return -1;
	fault_point("after_summary_put");
	return check_summary(compaction, key, err);
}

/* --- what may go --- */

static void condemn(struct compaction *compaction, const char *key)
{
	compaction->condemned =
		memory_grow(compaction->condemned, compaction->condemned_count + 1, sizeof(char *));
	compaction->condemned[compaction->condemned_count++] = key;
}

static void condemn_singles(struct compaction *compaction, uint32_t through, size_t most)
{
	const struct store_listing *singles = &compaction->listing->singles;
	uint32_t number, last = 0;

	for (size_t i = 0; i < singles->count && most > 0; i++) {
		if (!job_record_parse_attempt(strrchr(singles->items[i].key, '/') + 1, &number) ||
		    number > through)
			continue;
		most -= number != last && last != 0;
		last = number;
		if (most > 0)
			condemn(compaction, singles->items[i].key);
	}
}

/* The one before the newest stays: it is read if the newest is damaged. */
static void condemn_summaries(struct compaction *compaction, uint32_t through)
{
	const struct store_listing *summaries = &compaction->listing->summaries;
	uint32_t number, before = compaction->listing->through;

	if (before == through)
		return;
	for (size_t i = 0; i < summaries->count; i++)
		if (job_record_parse_number(strrchr(summaries->items[i].key, '/') + 1, &number) &&
		    number < before)
			condemn(compaction, summaries->items[i].key);
}

/* Nobody waits for an attempt that has been followed by others. */
static int condemn_announcements(struct compaction *compaction, uint32_t through,
				 struct store_listing *draining, struct err *err)
{
	auto_free char *prefix =
		text_format("jobs/%s/draining/", compaction->storage->transfer.job);
	struct store *store = compaction->storage->transfer.store;
	struct snapshot_id id;

	if (store->ops->list(store, prefix, STORE_ALL, draining, compaction->cancel, err) < 0)
		return -1;
	for (size_t i = 0; i < draining->count; i++)
		if (job_record_parse_id(draining->items[i].key + strlen(prefix), &id) &&
		    id.attempt <= through)
			condemn(compaction, draining->items[i].key);
	return 0;
}

/* What the store refuses to remove stays. One refusal ends it: they are all alike. */
static void remove_worker(void *arg, size_t index)
{
	struct compaction *compaction = arg;
	struct store *store = compaction->storage->transfer.store;
	size_t i;

	(void)index;
	while ((i = atomic_fetch_add(&compaction->next, 1)) < compaction->condemned_count) {
		struct err err = {0};

		fault_point("before_attempt_remove");
		if (store->ops->remove(store, compaction->condemned[i], compaction->cancel, &err) <
		    0) {
			note_failure(compaction, &err);
			atomic_store(&compaction->next, compaction->condemned_count);
		}
		fault_point("after_attempt_remove");
	}
}

static int remove_summarised(struct compaction *compaction, uint32_t through, size_t most,
			     struct err *err)
{
	auto_(store_listing_release) struct store_listing draining = {0};

	condemn_singles(compaction, through, most);
	condemn_summaries(compaction, through);
	if (compaction->condemned_count == 0)
		return 0;
	if (condemn_announcements(compaction, through, &draining, err) < 0)
		return -1;
	return run_workers(compaction, compaction->condemned_count, remove_worker, err);
}

int attempt_compaction_run(struct storage *storage, const struct job_listing *listing, size_t most,
			   struct cancel *cancel, struct err *err)
{
	auto_(compaction_release) struct compaction compaction = {
		.storage = storage,
		.listing = listing,
		.cancel = cancel,
	};
	uint32_t through = listing->through;

	pthread_mutex_init(&compaction.mutex, NULL);
	select_attempts(&compaction, most);
	if (compaction.end > compaction.first) {
		if (compose_summary(&compaction, err) < 0 || put_archive(&compaction, err) < 0 ||
		    put_summary(&compaction, err) < 0)
			return -1;
		through = compaction.summary.through;
	}
	return remove_summarised(&compaction, through, most, err);
}
