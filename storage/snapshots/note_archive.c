#include "note_archive.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/json.h"
#include "base/workers.h"

#include <stdlib.h>
#include <string.h>

#define THREADS_MOST 16

/* --- names --- */

char *note_archive_key(struct storage *storage, uint32_t first, uint32_t last)
{
	return text_format("jobs/%s/ledgers/%06u-%06u.json", storage->transfer.job, first, last);
}

bool note_archive_parse(const char *name, uint32_t *number)
{
	const char *rest;

	return job_record_parse_leading_number(name, number, &rest) && rest[0] == '/';
}

bool note_archive_is_ledger(const char *key)
{
	const char *slash = strrchr(key, '/');

	return slash && text_starts(slash, "/ledger-");
}

int note_archives_list(struct storage *storage, struct note_archives *archives,
		       struct cancel *cancel, struct err *err)
{
	return job_records_list_ids(storage, "ledgers", &archives->ranges, &archives->count, cancel,
				    err);
}

bool note_archives_have(const struct note_archives *archives, uint32_t number)
{
	for (size_t i = 0; i < archives->count; i++)
		if (archives->ranges[i].attempt <= number && number <= archives->ranges[i].sequence)
			return true;
	return false;
}

void note_archives_release(struct note_archives *archives)
{
	free(archives->ranges);
	*archives = (struct note_archives){0};
}

/* --- what is archived --- */

struct archiving {
	struct storage *storage;
	shorten_ledger_fn *shorten;
	struct cancel *cancel;
	struct note_archives archives;
	uint32_t *attempts; /* ascending */
	size_t count;
	bool more;                   /* there are others, for the next time */
	struct store_listing *notes; /* of each of them */
	json_t **ledgers;            /* of each; NULL: it is in an archive already */
	atomic_size_t next;
	pthread_mutex_t mutex;
	bool failed; /* under mutex, like `err` */
	struct err err;
};

static void archiving_release(struct archiving *archiving)
{
	for (size_t i = 0; i < archiving->count; i++) {
		if (archiving->notes)
			store_listing_release(&archiving->notes[i]);
		if (archiving->ledgers)
			json_decref(archiving->ledgers[i]);
	}
	free(archiving->notes);
	free(archiving->ledgers);
	free(archiving->attempts);
	note_archives_release(&archiving->archives);
	pthread_mutex_destroy(&archiving->mutex);
}
AUTO(struct archiving, archiving_release);

/* The attempts that have notes, without those that keep them, and the archives, after them. */
static int list_attempts(struct archiving *archiving, uint32_t through, struct err *err)
{
	auto_(store_listing_release) struct store_listing found = {0};
	auto_free char *prefix = text_format("jobs/%s/notes/", archiving->storage->transfer.job);
	struct store *store = archiving->storage->transfer.store;
	uint32_t number;
	size_t end;

	if (store->ops->list(store, prefix, STORE_LEVEL, &found, archiving->cancel, err) < 0)
		return -1;
	end = found.count > NOTES_LEAST ? found.count - NOTES_LEAST : 0;
	archiving->attempts = memory_new((end + 1) * sizeof(*archiving->attempts));
	for (size_t i = 0; i < end; i++)
		if (note_archive_parse(found.items[i].key + strlen(prefix), &number) &&
		    number <= through)
			archiving->attempts[archiving->count++] = number;
	return archiving->count == 0 ? 0
				     : note_archives_list(archiving->storage, &archiving->archives,
							  archiving->cancel, err);
}

/*
 * The oldest that are in no archive, if there are enough. What is in an archive already may go,
 * however little it is; but it is tried for the newest alone, where somebody was killed: a store
 * may list what is empty (a directory), and refuse to remove what is not.
 */
static void select_attempts(struct archiving *archiving)
{
	size_t archived = 0, others, first_archived, kept = 0;

	for (size_t i = 0; i < archiving->count; i++)
		archived += note_archives_have(&archiving->archives, archiving->attempts[i]);
	others = archiving->count - archived;
	archiving->more = others > NOTE_ARCHIVE_MOST;
	others = others < NOTE_ARCHIVE_LEAST ? 0 : others;
	others = archiving->more ? NOTE_ARCHIVE_MOST : others;
	first_archived = archived > NOTE_ARCHIVE_MOST ? archived - NOTE_ARCHIVE_MOST : 0;
	archived = 0;
	for (size_t i = 0; i < archiving->count; i++) {
		bool is_archived = note_archives_have(&archiving->archives, archiving->attempts[i]);

		if (is_archived ? archived++ >= first_archived : others > 0)
			archiving->attempts[kept++] = archiving->attempts[i];
		others -= !is_archived && others > 0;
	}
	archiving->count = kept;
}

/* --- the ledgers --- */

static int read_ledger(struct archiving *archiving, size_t at, struct err *err)
{
	const struct store_listing *notes = &archiving->notes[at];
	struct store *store = archiving->storage->transfer.store;
	auto_(bytes_release) struct bytes whole = {0}, shortened = {0};

	for (size_t i = 0; i < notes->count; i++)
		if (note_archive_is_ledger(notes->items[i].key) &&
		    store->ops->get(store, notes->items[i].key, 0, STORE_TO_END, &whole,
				    archiving->cancel, err) < 0)
			return -1;
	if (archiving->shorten(&whole, &shortened, err) < 0)
		return -1;
	archiving->ledgers[at] =
		json_pack("{s:I, s:o*}", "attempt", (json_int_t)archiving->attempts[at], "ledger",
			  json_stringn((const char *)shortened.data, shortened.size));
	return archiving->ledgers[at] ? 0 : err_set(err, ERR_FAILED, "cannot write it as JSON");
}

static int read_notes(struct archiving *archiving, size_t at, struct err *err)
{
	auto_free char *prefix =
		text_format("jobs/%s/notes/%06u/", archiving->storage->transfer.job,
			    archiving->attempts[at]);
	struct store *store = archiving->storage->transfer.store;

	if (store->ops->list(store, prefix, STORE_ALL, &archiving->notes[at], archiving->cancel,
			     err) < 0)
		return -1;
	if (note_archives_have(&archiving->archives, archiving->attempts[at]))
		return 0;
	return read_ledger(archiving, at, err);
}

static void note_failure(struct archiving *archiving, const struct err *err)
{
	pthread_mutex_lock(&archiving->mutex);
	if (!archiving->failed)
		archiving->err = *err;
	archiving->failed = true;
	pthread_mutex_unlock(&archiving->mutex);
	atomic_store(&archiving->next, archiving->count);
}

static int run_workers(struct archiving *archiving, void (*work)(void *arg, size_t index),
		       struct err *err)
{
	size_t threads = archiving->count < THREADS_MOST ? archiving->count : THREADS_MOST;

	atomic_store(&archiving->next, 0);
	if (threads > 0)
		parallel_run(threads, work, archiving);
	if (!archiving->failed)
		return 0;
	if (err)
		*err = archiving->err;
	return -1;
}

static void read_worker(void *arg, size_t index)
{
	struct archiving *archiving = arg;
	struct err err = {0};
	size_t i;

	(void)index;
	while ((i = atomic_fetch_add(&archiving->next, 1)) < archiving->count)
		if (read_notes(archiving, i, &err) < 0)
			note_failure(archiving, &err);
}

/* --- the archive --- */

static json_t *archive_body(struct archiving *archiving, uint32_t *first, uint32_t *last)
{
	json_t *attempts = json_array();
	char nonce[33], created[32];

	*first = 0;
	for (size_t i = 0; i < archiving->count; i++) {
		if (!archiving->ledgers[i])
			continue;
		json_array_append(attempts, archiving->ledgers[i]);
		*first = *first ? *first : archiving->attempts[i];
		*last = archiving->attempts[i];
	}
	random_hex(nonce);
	return json_pack("{s:o, s:s, s:s, s:s}", "attempts", attempts, "nonce", nonce, "created",
			 clock_format(clock_wall_ms(), created, sizeof(created)), "host",
			 archiving->storage->host);
}

/* One of the same attempts that is there already says the same: what is archived is not written any
 * more. */
static int put_archive(struct archiving *archiving, struct err *err)
{
	uint32_t first, last = 0;
	auto_json json_t *body = archive_body(archiving, &first, &last);
	auto_free char *key = note_archive_key(archiving->storage, first, last);
	struct err own = {0};

	if (first == 0)
		return 0;
	if (!body)
		return err_set(err, ERR_FAILED, "cannot write %s as JSON", key);
	fault_point("before_ledgers_put");
	if (job_record_put(archiving->storage->transfer.store, key, RECORD_LEDGERS, body, NULL,
			   archiving->cancel, &own) < 0 &&
	    own.kind != ERR_EXISTS) {
		if (err)
			*err = own;
		return -1;
	}
	fault_point("after_ledgers_put");
	return 0;
}

static int remove_notes(struct archiving *archiving, size_t at, struct err *err)
{
	const struct store_listing *notes = &archiving->notes[at];
	struct store *store = archiving->storage->transfer.store;

	for (size_t i = 0; i < notes->count; i++) {
		fault_point("before_note_remove");
		if (store->ops->remove(store, notes->items[i].key, archiving->cancel, err) < 0)
			return -1;
		fault_point("after_note_remove");
	}
	return 0;
}

static void remove_worker(void *arg, size_t index)
{
	struct archiving *archiving = arg;
	struct err err = {0};
	size_t i;

	(void)index;
	while ((i = atomic_fetch_add(&archiving->next, 1)) < archiving->count)
		if (remove_notes(archiving, i, &err) < 0)
			note_failure(archiving, &err);
}

/* What somebody else has begun to remove was read in part; but then it is in an archive, which is
 * listed after the notes. */
static int drop_archived(struct archiving *archiving, struct err *err)
{
	note_archives_release(&archiving->archives);
	if (note_archives_list(archiving->storage, &archiving->archives, archiving->cancel, err) <
	    0)
		return -1;
	for (size_t i = 0; i < archiving->count; i++) {
		if (!note_archives_have(&archiving->archives, archiving->attempts[i]))
			continue;
		json_decref(archiving->ledgers[i]);
		archiving->ledgers[i] = NULL;
	}
	return 0;
}

static int archive_notes(struct archiving *archiving, uint32_t through, struct err *err)
{
	if (list_attempts(archiving, through, err) < 0)
		return -1;
	select_attempts(archiving);
	if (archiving->count == 0)
		return 0;
	archiving->notes = memory_new((archiving->count + 1) * sizeof(*archiving->notes));
	archiving->ledgers = memory_new((archiving->count + 1) * sizeof(*archiving->ledgers));
	if (run_workers(archiving, read_worker, err) < 0 || drop_archived(archiving, err) < 0 ||
	    put_archive(archiving, err) < 0)
		return -1;
	return run_workers(archiving, remove_worker, err);
}

int note_archive_run(struct storage *storage, uint32_t through, shorten_ledger_fn *shorten,
		     struct cancel *cancel, struct err *err)
{
	auto_(archiving_release) struct archiving archiving = {
		.storage = storage,
		.shorten = shorten,
		.cancel = cancel,
	};

	pthread_mutex_init(&archiving.mutex, NULL);
	if (!shorten || through == storage->notes_through)
		return 0;
	if (archive_notes(&archiving, through, err) < 0)
		return -1;
	if (!archiving.more)
		storage->notes_through = through;
	return 0;
}
