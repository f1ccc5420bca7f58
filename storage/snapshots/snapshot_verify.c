/*
 * Reads and checks everything that snapshots consist of: each pack once, its index, every chunk in
 * it, and that the pack holds the chunks that each manifest names.
 */
#include "storage/storage.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/workers.h"
#include "storage/format/format.h"
#include "storage/records/records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS_MOST 8

/* That a pack exists, that it holds one chunk of a file (`entry`), or a piece of the list of files
 * (`piece`). All borrowed from the manifest. */
struct pack_reference {
	const char *key;
	const struct manifest *manifest;
	size_t pack; /* in the manifest's table */
	const struct entry *entry;
	size_t number; /* of the chunk */
	const struct manifest_piece *piece;
};

struct verifying {
	struct storage *storage;
	const struct verify_request *request;
	struct cancel *cancel;
	struct manifest *manifests;
	bool *forgotten; /* per manifest: since it was read; guarded by `mutex` */
	uint32_t forgotten_count;
	size_t manifest_count;
	bool *lost; /* per entry of the first manifest, if that is asked for; guarded by `mutex` */
	struct pack_reference *references; /* sorted by pack, and within one by place */
	size_t reference_count;
	size_t *packs;        /* the first reference of each pack that is read */
	uint64_t bytes_total; /* of all packs */
	_Atomic uint64_t bytes_done;
	struct verify_result result; /* guarded by `mutex` */
	pthread_mutex_t mutex;
};

static void report_damage(struct verifying *verifying, struct snapshot_id id, const char *sentence)
{
	pthread_mutex_lock(&verifying->mutex);
	verifying->result.damages++;
	if (verifying->request->found)
		verifying->request->found(verifying->request->arg, id, sentence);
	pthread_mutex_unlock(&verifying->mutex);
}

/* --- collecting what is to be checked --- */

/* Damage is reported; a store that cannot be read is an error. */
static int settle_unreadable(struct verifying *verifying, struct snapshot_id id,
			     const struct err *own, struct err *err)
{
	if (own->kind == ERR_CORRUPT) {
		report_damage(verifying, id, own->text);
		return 0;
	}
	return err_pass(err, own);
}

/* It could not be read because it is not there any more. */
static bool is_forgotten(struct verifying *verifying, struct snapshot_id id, const struct err *own)
{
	return (own->kind == ERR_CORRUPT || own->kind == ERR_NOT_FOUND) &&
	       job_record_is_forgotten(verifying->storage, id, verifying->cancel);
}

/* A manifest is removed before the packs that it names: one that is there still lacks the pack. */
static bool is_forgotten_since(struct verifying *verifying, const struct manifest *manifest)
{
	size_t number = (size_t)(manifest - verifying->manifests);
	bool known, forgotten;

	pthread_mutex_lock(&verifying->mutex);
	known = verifying->forgotten[number];
	pthread_mutex_unlock(&verifying->mutex);
	if (known)
		return true;
	forgotten = job_record_is_forgotten(verifying->storage, manifest->id, verifying->cancel);
	pthread_mutex_lock(&verifying->mutex);
	verifying->forgotten_count += forgotten && !verifying->forgotten[number];
	verifying->forgotten[number] |= forgotten;
	pthread_mutex_unlock(&verifying->mutex);
	return forgotten;
}

static int add_snapshot(struct verifying *verifying, struct snapshot_id id, struct err *err)
{
	struct manifest *manifest = &verifying->manifests[verifying->manifest_count];
	struct err own = {0};

	if (job_record_get_manifest_head(verifying->storage, id, manifest, verifying->cancel,
					 &own) < 0) {
		if (is_forgotten(verifying, id, &own)) {
			verifying->forgotten_count++;
			return 0;
		}
		verifying->result.unreadable += own.kind == ERR_CORRUPT;
		return settle_unreadable(verifying, id, &own, err);
	}
	if (entry_list_load(verifying->storage, manifest, verifying->cancel, &own) < 0) {
		if (is_forgotten(verifying, id, &own)) {
			manifest_release(manifest);
			verifying->forgotten_count++;
			return 0;
		}
		err_wrap(&own, "the list of files");
		if (settle_unreadable(verifying, id, &own, err) < 0) {
			manifest_release(manifest);
			return -1;
		}
	}
	/* Also without its files, its packs are checked. */
	verifying->manifest_count++;
	return 0;
}

/* NULL: it says only that the pack exists. */
static const struct chunk *reference_chunk(const struct pack_reference *reference)
{
	if (reference->piece)
		return &reference->piece->chunk;
	return reference->entry ? &reference->entry->chunks[reference->number] : NULL;
}

static int compare_references(const void *a, const void *b)
{
	const struct pack_reference *first = a, *second = b;
	const struct chunk *x = reference_chunk(first), *y = reference_chunk(second);
	int by_key = strcmp(first->key, second->key);

	if (by_key != 0 || !x || !y)
		return by_key != 0 ? by_key : (x != NULL) - (y != NULL);
	return (x->offset > y->offset) - (x->offset < y->offset);
}

static void add_reference(struct verifying *verifying, struct pack_reference reference)
{
	size_t count = verifying->reference_count++;

	if ((count & (count - 1)) == 0)
		verifying->references = memory_grow(verifying->references, count ? 2 * count : 1,
						    sizeof(*verifying->references));
	reference.key = reference.manifest->packs[reference.pack].key;
	verifying->references[count] = reference;
}

/* All that it says. Chunks of zeros are in no pack. */
static void add_references(struct verifying *verifying, const struct manifest *manifest)
{
	for (size_t i = 0; i < manifest->pack_count; i++)
		add_reference(verifying, (struct pack_reference){.manifest = manifest, .pack = i});
	for (size_t i = 0; i < manifest->piece_count; i++)
		add_reference(verifying,
			      (struct pack_reference){.manifest = manifest,
						      .pack = manifest->pieces[i].chunk.pack,
						      .piece = &manifest->pieces[i]});
	for (size_t i = 0; i < manifest->entry_count; i++) {
		const struct entry *entry = &manifest->entries[i];

		for (size_t j = 0; entry->type == ENTRY_FILE && j < chunk_count(entry->size); j++)
			if (entry->chunks[j].codec != CHUNK_ZERO)
				add_reference(verifying,
					      (struct pack_reference){.manifest = manifest,
								      .pack = entry->chunks[j].pack,
								      .entry = entry,
								      .number = j});
	}
}

/* How many of the `left` from here on are of the first one's pack. */
static size_t count_of_pack(const struct pack_reference *first, size_t left)
{
	size_t count = 0;

	while (count < left && strcmp(first->key, first[count].key) == 0)
		count++;
	return count;
}

/* --- one pack --- */

static void note_lost(struct verifying *verifying, const struct pack_reference *reference)
{
	if (!verifying->lost || !reference->entry)
		return;
	pthread_mutex_lock(&verifying->mutex);
	verifying->lost[reference->entry - reference->manifest->entries] = true;
	pthread_mutex_unlock(&verifying->mutex);
}

static void check_reference(struct verifying *verifying, struct whole_pack *pack,
			    const struct pack_reference *reference)
{
	const struct chunk *chunk = reference_chunk(reference);
	size_t raw_size =
		reference->piece ? reference->piece->size
				 : chunk_length(reference->entry->size, reference->number);
	uint64_t from = (uint64_t)reference->number * CHUNK_SIZE;
	auto_free char *sentence = NULL;
	struct err err = {0};

	if (whole_pack_check_chunk(pack, chunk, raw_size, &err) == 0)
		return;
	pack->damaged = true;
	/* Said when the list was read. */
	if (reference->piece)
		return;
	note_lost(verifying, reference);
	sentence = text_format("%s: pack %s, chunk at %u (bytes %llu to %llu of the file): %s",
			       reference->entry->path, reference->key, chunk->offset,
			       (unsigned long long)from, (unsigned long long)(from + raw_size),
			       err.text);
	report_damage(verifying, reference->manifest->id, sentence);
}

static void report_missing(struct verifying *verifying, const struct pack_reference *references,
			   size_t count)
{
	auto_free char *sentence = text_format("pack %s: is missing", references->key);

	for (size_t i = 0; i < count; i++) {
		if (is_forgotten_since(verifying, references[i].manifest))
			continue;
		note_lost(verifying, &references[i]);
		if (!reference_chunk(&references[i]))
			report_damage(verifying, references[i].manifest->id, sentence);
	}
}

/* Reports damage of the whole pack for every snapshot that names it. */
static void report_to_snapshots(struct verifying *verifying,
				const struct pack_reference *references, size_t count,
				const char *said)
{
	auto_free char *sentence = text_format("pack %s: %s", references->key, said);

	for (size_t i = 0; i < count; i++)
		if (!reference_chunk(&references[i]))
			report_damage(verifying, references[i].manifest->id, sentence);
}

static void check_sizes(struct verifying *verifying, struct whole_pack *pack,
			const struct pack_reference *references, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t size = references[i].manifest->packs[references[i].pack].bytes;
		auto_free char *sentence = NULL;

		if (reference_chunk(&references[i]) || size == pack->data.size)
			continue;
		pack->damaged = true;
		sentence = text_format("pack %s has %zu bytes instead of %llu", pack->key,
				       pack->data.size, (unsigned long long)size);
		report_damage(verifying, references[i].manifest->id, sentence);
	}
}

static void check_contents(struct verifying *verifying, struct whole_pack *pack,
			   const struct pack_reference *references, size_t count)
{
	struct err err = {0};

	check_sizes(verifying, pack, references, count);
	if (whole_pack_check_index(pack, &err) < 0) {
		pack->damaged = true;
		report_to_snapshots(verifying, references, count, err.text);
	}
	whole_pack_check_chunks(pack);
	for (size_t i = 0; i < count; i++)
		if (reference_chunk(&references[i]))
			check_reference(verifying, pack, &references[i]);
	for (uint32_t i = 0; i < pack->record_count; i++) {
		if (pack->used[i] || !pack->faults[i][0])
			continue;
		pack->damaged = true;
		report_to_snapshots(verifying, references, count,
				    "a chunk that none of these snapshots needs is damaged");
	}
}

/* `aside`: it was set aside before. */
static int settle_damaged(struct verifying *verifying, const struct whole_pack *pack, bool aside,
			  struct err *err)
{
	bool repair = verifying->request->repair;

	if (!pack->damaged || aside)
		return 0;
	if (repair && pack_aside_put(verifying->storage, pack->key, verifying->cancel, err) < 0)
		return -1;
	pthread_mutex_lock(&verifying->mutex);
	if (repair)
		verifying->result.set_aside++;
	else
		verifying->result.to_repair++;
	pthread_mutex_unlock(&verifying->mutex);
	return 0;
}

static void report_progress(struct verifying *verifying, uint64_t bytes)
{
	struct storage *storage = verifying->storage;
	uint64_t done = atomic_fetch_add(&verifying->bytes_done, bytes) + bytes;

	if (storage->progress)
		storage->progress(storage->progress_arg, done, verifying->bytes_total);
}

static int read_pack(struct verifying *verifying, const struct pack_reference *references,
		     size_t count, struct whole_pack *pack, struct err *err)
{
	struct err own = {0};
	auto_free char *key = transfer_pack_key(&verifying->storage->transfer, references->key);
	struct store *store = verifying->storage->transfer.store;

	if (!pack->space)
		return err_os(err, ENOMEM, "buffer of %zu bytes", CHUNK_SIZE);
	whole_pack_reset(pack, references->key);
	if (store->ops->get(store, key, 0, STORE_TO_END, &pack->data, verifying->cancel, &own) ==
	    0) {
		check_contents(verifying, pack, references, count);
		if (settle_damaged(verifying, pack,
				   pack_aside_has(verifying->storage, references->key), err) < 0)
			return -1;
	} else if (own.kind == ERR_NOT_FOUND) {
		report_missing(verifying, references, count);
	} else {
		return err_pass(err, &own);
	}
	report_progress(verifying, pack->data.size);
	return 0;
}

static int check_pack(void *arg, size_t at, struct err *err)
{
	struct verifying *verifying = arg;
	struct whole_pack pack = {.space = malloc(CHUNK_SIZE)};
	size_t first = verifying->packs[at];
	const struct pack_reference *references = &verifying->references[first];
	int result = read_pack(verifying, references,
			       count_of_pack(references, verifying->reference_count - first), &pack,
			       err);

	whole_pack_release(&pack);
	return result;
}

/* --- all packs --- */

/* The packs that are read: each with that chance, and one at least. */
static void take_sample(struct verifying *verifying)
{
	const struct pack_reference *references = verifying->references;
	size_t count = verifying->reference_count, sure;
	unsigned percent = verifying->request->sample_percent;
	struct verify_result *result = &verifying->result;
	bool all = percent == 0 || percent >= 100;

	verifying->packs = memory_new((count + 1) * sizeof(*verifying->packs));
	for (size_t i = 0; i < count; i += count_of_pack(references + i, count - i))
		verifying->packs[result->packs++] = i;
	sure = result->packs > 0 ? backoff_random() % result->packs : 0;
	for (size_t i = 0; i < result->packs; i++) {
		const struct pack_reference *first = &references[verifying->packs[i]];

		if (!all && i != sure && backoff_random() % 100 >= percent)
			continue;
		verifying->packs[result->packs_read++] = verifying->packs[i];
		verifying->bytes_total += first->manifest->packs[first->pack].bytes;
	}
}

/* --- all of it --- */

static int read_manifests(struct verifying *verifying, struct err *err)
{
	auto_(job_listing_release) struct job_listing listing = {0};
	const struct lineage *lineage = &listing.lineage;
	struct snapshot_id id = verifying->request->id;

	if (job_records_list_snapshots(verifying->storage, &listing, verifying->cancel, err) < 0)
		return -1;
	verifying->manifests = memory_new((lineage->snapshot_count + 1) * sizeof(struct manifest));
	if (!snapshot_id_is_none(id)) {
		verifying->result.snapshots = 1;
		return add_snapshot(verifying, id, err);
	}
	verifying->result.snapshots = (uint32_t)lineage->snapshot_count;
	for (size_t i = 0; i < lineage->snapshot_count; i++)
		if (add_snapshot(verifying, lineage->snapshots[i], err) < 0)
			return -1;
	return 0;
}

static void report_lost(const struct verifying *verifying)
{
	const struct manifest *manifest = &verifying->manifests[0];

	for (size_t i = 0; verifying->lost && i < manifest->entry_count; i++) {
		const struct entry *entry = &manifest->entries[i];
		const struct entry *content =
			entry->type == ENTRY_HARDLINK ? manifest_find(manifest, entry->target)
						      : entry;

		if (content && verifying->lost[content - manifest->entries])
			verifying->request->lost(verifying->request->arg, entry->path);
	}
}

static bool is_named(void *arg, const char *pack)
{
	const struct verifying *verifying = arg;

	for (size_t i = 0; i < verifying->manifest_count; i++)
		for (size_t j = 0; j < verifying->manifests[i].pack_count; j++)
			if (text_equal(verifying->manifests[i].packs[j].key, pack))
				return true;
	/* An unreadable manifest may name it, and of one snapshot the others are not known. */
	return verifying->result.unreadable > 0 || !snapshot_id_is_none(verifying->request->id);
}

static int verify_snapshots(struct verifying *verifying, struct err *err)
{
	if (read_manifests(verifying, err) < 0)
		return -1;
	if (pack_aside_list(verifying->storage, verifying->cancel, err) < 0)
		return -1;
	if (verifying->request->repair &&
	    pack_aside_sort_out(verifying->storage, is_named, verifying,
				&verifying->result.put_back, verifying->cancel, err) < 0)
		return -1;
	verifying->forgotten = memory_new(verifying->manifest_count + 1);
	for (size_t i = 0; i < verifying->manifest_count; i++)
		add_references(verifying, &verifying->manifests[i]);
	if (verifying->reference_count > 0)
		qsort(verifying->references, verifying->reference_count,
		      sizeof(*verifying->references), compare_references);
	take_sample(verifying);
	if (verifying->request->lost && verifying->manifest_count == 1)
		verifying->lost = memory_new(verifying->manifests[0].entry_count + 1);
	if (parallel_each(verifying->result.packs_read, verifying->storage->threads, check_pack,
			  verifying, err) < 0)
		return -1;
	report_lost(verifying);
	return 0;
}

/* 1: all that there was to read was forgotten meanwhile. */
static int verify_once(struct storage *storage, const struct verify_request *request,
		       struct verify_result *result, struct cancel *cancel, struct err *err)
{
	struct verifying verifying = {.storage = storage, .request = request, .cancel = cancel};
	int status;

	pthread_mutex_init(&verifying.mutex, NULL);
	status = verify_snapshots(&verifying, err);
	verifying.result.snapshots -= verifying.forgotten_count;
	*result = verifying.result;
	if (status == 0 && verifying.forgotten_count > 0 && result->snapshots == 0)
		status = 1;
	pthread_mutex_destroy(&verifying.mutex);
	for (size_t i = 0; i < verifying.manifest_count; i++)
		manifest_release(&verifying.manifests[i]);
	free(verifying.lost);
	free(verifying.forgotten);
	free(verifying.manifests);
	free(verifying.references);
	free(verifying.packs);
	return status;
}

int storage_verify(struct storage *storage, const struct verify_request *request,
		   struct verify_result *result, struct cancel *cancel, struct err *err)
{
	int status = 1;

	for (int i = 0; status > 0 && i < ROUNDS_MOST; i++) {
		status = verify_once(storage, request, result, cancel, err);
		if (status > 0 && !snapshot_id_is_none(request->id))
			return err_set(err, ERR_NOT_FOUND, "it was forgotten while it was read");
	}
	return status > 0 ? err_set(err, ERR_RETRY,
				    "snapshots are forgotten faster than they can be read: pin "
				    "one (`reprieve pin latest`), and verify that")
			  : status;
}
